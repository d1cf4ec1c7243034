"""Importers: every program's format as in its documentation, and whatever else a file may hold."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results import importers
from gpubench_reports.results.reader import read

from .imports import FILES, SAMPLES, imported, row


def test_what_can_be_imported_is_what_the_command_takes_and_explains(capsys):
    with pytest.raises(SystemExit):
        main(["import", "--help"])
    printed = capsys.readouterr().out
    assert f"{{{','.join(importers.PROGRAMS)}}}" in "".join(printed.split())
    assert set(FILES) == set(importers.PROGRAMS)
    assert all(f"\n  {program} " in printed for program in importers.PROGRAMS)
    with pytest.raises(SystemExit) as left:
        main(["import", "--from=gnuplot", "x", "-o", "y"])
    assert left.value.code == 2


BABEL = "Using CUDA device NVIDIA H100 80GB HBM3\n" + (SAMPLES / FILES["babelstream"]).read_text()
MIXBENCH, NCCL = ((SAMPLES / FILES[name]).read_text() for name in ("mixbench", "nccl-tests"))
GPU_STREAM = (SAMPLES / FILES["gpu-benches"]).read_text()


NCCL_SMALL = "all_reduce/all_reduce/dtype:fp32/place:out/ranks:2/size:8"
NVBENCH = (SAMPLES / FILES["nvbench"]).read_text()


@pytest.mark.parametrize(
    ("program", "text", "old", "new"),
    [
        ("babelstream", BABEL, "0.0003,0.000536870912", "0.0003,0"),
        ("babelstream", BABEL, "0.0003,0.000536870912", "0.0003,inf"),
        ("gpu-benches", GPU_STREAM, "  1700 ", "     0 "),
        ("gpu-benches", GPU_STREAM, "  1700 ", "   nan "),
        ("nccl-tests", NCCL, "10.00    0.00    0.00", " 0.00    0.00    0.00"),
        ("nccl-tests", NCCL, "10.00    0.00    0.00", "-1.00    0.00    0.00"),
        ("nvbench", NVBENCH, "nv/cold/time/gpu/m", "nv/cold/time/cpu/m"),
    ],
)
def test_a_row_whose_time_is_not_stated_is_skipped_and_not_lost(tmp_path, program, text, old, new):
    whole, log = imported(tmp_path, program, device=""), tmp_path / "log"
    assert old in text
    log.write_text(text.replace(old, new))
    found = imported(tmp_path, program, log, device="")
    assert set(found.rows["name"]) == set(whole.rows["name"])
    assert len(found.timed) < len(whole.timed)
    said = {row["reason"] for row in found.records if row["status"] == "skipped"}
    assert importers.NO_TIME in said


def test_a_run_without_a_time_does_not_hide_the_other_run_of_a_log(tmp_path):
    log = tmp_path / "log"
    log.write_text(f"{NCCL}{NCCL.replace('10.00    0.00    0.00', ' 0.00    0.00    0.00')}")
    found = row(imported(tmp_path, "nccl-tests", log), NCCL_SMALL)
    assert (found["status"], found["seconds"]) == ("ok", pytest.approx(10e-6))


def test_a_file_without_any_time_holds_no_results(tmp_path):
    log = tmp_path / "log"
    titles = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,avg_runtime"
    log.write_text(f"{titles}\nCopy,100,1024,8,0,0,0\n")
    with pytest.raises(ReportError, match="holds no results of babelstream"):
        imported(tmp_path, "babelstream", log)


def test_a_collective_that_is_not_run_in_place_has_no_such_row(tmp_path):
    log = tmp_path / "log"
    log.write_text(NCCL.replace(" 9.50    0.00    0.00", "  N/A     N/A     N/A"))
    names = list(imported(tmp_path, "nccl-tests", log).rows["name"])
    assert NCCL_SMALL in names
    assert NCCL_SMALL.replace(":out", ":in") not in names


@pytest.mark.parametrize(
    ("program", "first", "second", "said"),
    [
        ("babelstream", BABEL, BABEL.replace("H100 80GB HBM3", "A100"), "devices, NVIDIA H100"),
        ("babelstream", BABEL, BABEL.replace("33554432", "1024"), "with 33554432 elements and"),
        ("babelstream", BABEL, BABEL.partition("\n")[2], "33554432 elements in table 2"),
        ("gpu-benches", GPU_STREAM, GPU_STREAM, "with table 1 and with table 2"),
        ("mixbench", MIXBENCH, MIXBENCH.replace("A100-SXM4", "A30"), "devices, NVIDIA A100"),
        ("mixbench", MIXBENCH, MIXBENCH.replace("256MB", "64MB"), "buffer size 64MB"),
        ("mixbench", MIXBENCH, MIXBENCH.replace("v0.04-1", "v0.02"), "versions, v0.04-1 and v0.02"),
        ("nccl-tests", NCCL, NCCL.replace("H100", "A100"), "devices, NVIDIA H100 80GB HBM3 and"),
        ("nccl-tests", NCCL, NCCL.replace("graph: 0", "graph: 20"), "graph 20"),
        (
            "nccl-tests",
            NCCL,
            NCCL.replace("on      node1 device  1", "on node2 device 0"),
            "2 hosts",
        ),
        ("nccl-tests", NCCL, NCCL.replace("2.17.6", "2.13.8"), "versions, 2.17.6 and 2.13.8"),
    ],
)
def test_runs_that_are_no_repetitions_are_not_mixed(tmp_path, capsys, program, first, second, said):
    log, out = tmp_path / "log", tmp_path / "out.json"
    log.write_text(f"{first}\n{second}")
    assert main(["import", f"--from={program}", str(log), "-o", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.endswith(": put each into a file of its own")
    assert not out.exists()


def test_nvbench_is_of_the_device_that_its_states_used(tmp_path):
    document = json.loads((SAMPLES / FILES["nvbench"]).read_text())
    document["devices"] = [{"id": 0, "name": "NVIDIA T4"}, {"id": 1, "name": "NVIDIA H200"}]
    (bench,) = document["benchmarks"]
    for state in bench["states"]:
        state["device"] = 1
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document))
    document_of_one = importers.convert(path, "nvbench", "h200-sxm")
    assert document_of_one["context"]["device_title"] == "NVIDIA H200"
    bench["states"][0]["device"] = 0
    path.write_text(json.dumps(document))
    with pytest.raises(ReportError, match="runs of two devices, NVIDIA T4 and NVIDIA H200"):
        importers.convert(path, "nvbench")
    bench["states"][0]["device"] = 1
    document["benchmarks"] = [bench, bench]
    path.write_text(json.dumps(document))
    with pytest.raises(
        ReportError, match=r"twice, with benchmark 1, state .* and with benchmark 2"
    ):
        importers.convert(path, "nvbench")


def test_gpu_stream_counts_a_kernels_arrays_one_way_each(tmp_path):
    result = imported(tmp_path, "gpu-benches")
    assert len(result.rows) == 2 * 4  # its stencils are no row of ours
    found = row(result, "stream/triad/dtype:fp64/bytes:8/unroll:1/block:1024")
    assert found["useful_bytes_per_second"] == 3.5e12
    assert found["seconds"] == pytest.approx(3 * 8 * (128 * 2**20 + 2) / 3.5e12)


def test_babelstream(tmp_path):
    result = imported(tmp_path, "babelstream")
    assert set(result.rows["kernel"]) == {"copy", "scale", "add", "triad", "dot"}
    found = row(result, "stream/copy/dtype:fp64/bytes:8/unroll:1")
    # 2 TB/s is that of the fastest run; the mean took twice as long.
    assert found["useful_bytes_per_second"] == pytest.approx(1e12)
    assert found["seconds"] == pytest.approx(2 * found["min_seconds"])


@pytest.mark.parametrize("before", [True, False])
def test_babelstream_that_failed_its_check_is_not_measured(tmp_path, before):
    wrong = "Validation failed on a[]. Average error 0.5"
    log = (SAMPLES / FILES["babelstream"]).read_text()
    (tmp_path / "log").write_text(f"{wrong}\n{log}" if before else f"{log}{wrong}\n")
    rows = imported(tmp_path, "babelstream", tmp_path / "log").rows
    assert len(rows) == 5
    assert set(zip(rows["status"], rows["reason"], strict=True)) == {("failed", wrong)}


def test_mixbench(tmp_path):
    result = imported(tmp_path, "mixbench", device="a100-80-sxm")
    assert result.context.device_title == "NVIDIA A100-SXM4-80GB"
    found = row(result, "roofline/mixbench/dtype:fp64/iterations:256")
    assert found["flops_per_second"] == pytest.approx(9e12)
    assert found["arithmetic_intensity"] == pytest.approx(64.125)
    assert found["seconds"] == pytest.approx(1e-3)
    assert row(result, "roofline/mixbench/dtype:int32/iterations:0")["items_per_second"] == 4e11
    # Half precision took no time that two digits could show: no row, rather than an invented one.
    assert "roofline/mixbench/dtype:fp16/iterations:256" not in set(result.rows["name"])


def test_nvbandwidth(tmp_path):
    result = imported(tmp_path, "nvbandwidth")
    assert result.context.driver_version == "570.86.10"
    found = row(result, "nvbandwidth/host_to_device_memcpy_ce/row:0/column:1")
    assert found["useful_bytes_per_second"] == pytest.approx(4e10)
    assert "512 MiB" in found["notes"][-1]
    assert row(result, "nvbandwidth/host_device_latency_sm/row:0/column:0")["seconds"] == 8e-7
    assert (result.rows["kernel"] == "device_to_device_memcpy_read_ce").sum() == 2
    assert list(result.rows["status"]).count("skipped") == 1


def test_nvbench(tmp_path):
    result = imported(tmp_path, "nvbench", device="h200-sxm")
    found = row(result, "nvbench/copy_sweep/BlockSize:64/T:I32")
    assert found["seconds"] == pytest.approx(128e-6)
    assert found["min_seconds"] == pytest.approx(125e-6)
    assert found["useful_bytes_per_second"] == pytest.approx(4e12)
    assert found["samples"] == 512
    skipped = row(result, "nvbench/copy_sweep/BlockSize:2048/T:I32")
    assert skipped["reason"] == "too many threads in a block"


@pytest.mark.parametrize("program", FILES)
def test_the_command_writes_a_file_that_every_command_reads(tmp_path, capsys, program):
    out = tmp_path / "old.json"
    arguments = ["import", f"--from={program}", str(SAMPLES / FILES[program]), "-o", str(out)]
    assert main(arguments) == 0
    for command in ("table", "csv", "markdown"):
        assert main([command, str(out)]) == 0
    assert json.loads(out.read_text())["context"]["device_kind"] == "cuda"
    assert capsys.readouterr().err == ""


H100 = "NVIDIA H100 80GB HBM3"
NVBENCH = (SAMPLES / FILES["nvbench"]).read_text()


@pytest.mark.parametrize(
    ("program", "log", "device", "named", "is_called"),
    [
        ("nccl-tests", NCCL, "a100-80-sxm", H100, "h100-sxm"),
        ("nccl-tests", NCCL.replace(H100, "NVIDIA H200", 1), "h100-sxm", "NVIDIA H200", "h200-sxm"),
        ("nccl-tests", NCCL.replace(H100, f"{H100} MIG 1g.10gb"), "b200", H100, "h100-sxm"),
        (
            "nccl-tests",
            NCCL.replace(H100, "NVIDIA H200 NVL"),
            "b200",
            "NVIDIA H200 NVL",
            "h200-sxm",
        ),
        ("nccl-tests", NCCL, "h100", H100, "h100-sxm"),
        ("babelstream", BABEL, "h200-sxm", H100, "h100-sxm"),
        ("mixbench", MIXBENCH, "a100-40-sxm", "NVIDIA A100-SXM4-80GB", "a100-80-sxm"),
        ("nvbench", NVBENCH, "h100-sxm", "NVIDIA H200", "h200-sxm"),
    ],
)
def test_a_device_that_the_log_contradicts_is_refused(
    tmp_path, capsys, program, log, device, named, is_called
):
    source, out = tmp_path / "log", tmp_path / "out.json"
    source.write_text(log)
    command = ["import", f"--from={program}", str(source), "-o", str(out)]
    assert main([*command, f"--device={device}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{source}: was measured on {named}" in line
    assert line.endswith(f", which gpubench calls {is_called}, not {device}")
    assert not out.exists()
    if log.count(named) == log.count("NVIDIA"):  # all are of one kind
        assert main([*command, f"--device={is_called}"]) == 0


@pytest.mark.parametrize("named", ["NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3e", "NVIDIA B2000"])
@pytest.mark.parametrize("device", ["h100-sxm", "my-own"])
def test_a_gpu_that_no_device_file_lists_is_what_the_user_says(tmp_path, named, device):
    log = tmp_path / "log"
    log.write_text(NCCL.replace(H100, named))
    assert imported(tmp_path, "nccl-tests", log, device).context.device == device


@pytest.mark.parametrize("program", FILES)
@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "{}",
        "[1]",
        '{"nvbandwidth": 3}',
        "a,b,c\n1,2,3\n",
        '{"devices": [], "benchmarks": [{"states": 3}]}',
    ],
)
def test_what_is_not_of_that_program_is_one_line(tmp_path, capsys, program, wrong):
    source = tmp_path / "in"
    source.write_text(wrong)
    arguments = ["import", f"--from={program}", str(source), "-o", str(tmp_path / "out.json")]
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


@settings(max_examples=60)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_a_damaged_file_gives_rows_or_one_error(tmp_path_factory, program, data):
    """Bytes cut out, doubled or replaced anywhere in a real file."""
    content = (SAMPLES / FILES[program]).read_bytes()
    at = data.draw(st.integers(0, len(content)))
    to = data.draw(st.integers(at, min(at + 60, len(content))))
    content = content[:at] + data.draw(st.binary(max_size=20)) + content[to:]
    path = tmp_path_factory.mktemp("damaged") / "in"
    path.write_bytes(content)
    out = path.with_name("out.json")
    try:
        out.write_bytes(importers.to_bytes(importers.convert(path, program)))
        rows = len(read(out).rows)
    except ReportError as error:
        rows = len(str(error).splitlines())
    assert rows >= 1
