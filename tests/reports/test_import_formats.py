"""Options and newer versions of other programs change what they print: their figures stay right."""

import json

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results import importers

from .imports import FILES, SAMPLES, imported, row

NCCL = (SAMPLES / FILES["nccl-tests"]).read_text()
ALL_REDUCE = "all_reduce/all_reduce/dtype:{}/place:{}/ranks:2/size:{}"
TABLE = """\
# {above}
#       size         count      type   redop    root  {titles}
#        (B)    (elements)
     8388608       2097152     float     sum      -1  {cells}
"""
OUT, IN = "40.00  209.72  209.72      0", "41.00  204.60  204.60      3"
TITLES = "time   algbw   busbw  #wrong"


def nccl_log(tmp_path, titles, cells, above=""):
    head = NCCL[: NCCL.index("#                                 ")]
    log = tmp_path / "nccl.txt"
    log.write_text(head + TABLE.format(above=above, titles=titles, cells=cells))
    return log


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        (f"{TITLES}  {TITLES}  timestamp", f"{OUT}  {IN}  2026-07-09 16:03:21"),
        (
            f"{TITLES} i_min i_max i_p99 i_cv%  {TITLES} i_min i_max i_p99 i_cv%",
            f"{OUT} 39.0 45.0 44.0 1.20  {IN} 40.0 46.0 45.0 1.30",
        ),
        (
            f"{TITLES} i_min i_max i_p99 i_cv%  {TITLES} i_min i_max i_p99 i_cv% timestamp",
            f"{OUT} 39.0 45.0 44.0 1.20  {IN} 40.0 46.0 45.0 1.30  2026-07-09 16:03:21",
        ),
    ],
)
def test_columns_that_options_of_nccl_tests_add_are_not_taken_for_others(tmp_path, titles, cells):
    result = imported(tmp_path, "nccl-tests", nccl_log(tmp_path, titles, cells))
    out = row(result, ALL_REDUCE.format("fp32", "out", 8388608))
    assert out["seconds"] == pytest.approx(40e-6)
    assert out["bus_bytes_per_second"] == pytest.approx(8388608 / 40e-6)
    assert row(result, ALL_REDUCE.format("fp32", "in", 8388608))["reason"] == "3 wrong elements"
    assert len(result.rows) == 2


def test_the_hosts_time_of_a_call_is_not_that_of_a_collective(tmp_path):
    titles = TITLES.replace("time ", "cputime")
    log = nccl_log(tmp_path, f"{titles}  {titles}", f"{OUT}  {IN}")
    with pytest.raises(ReportError, match="gives the host's time of each call"):
        importers.convert(log, "nccl-tests", "h100-sxm")


@pytest.mark.parametrize("cut", ["41.00  204.60  204.60", "41.00"])
def test_a_line_of_nccl_tests_that_was_cut_short_gives_no_row(tmp_path, cut):
    whole = f"{OUT}  {IN}\n         8             2     float     sum      -1  {OUT}  {cut}"
    log = nccl_log(tmp_path, f"{TITLES}  {TITLES}", whole)
    rows = imported(tmp_path, "nccl-tests", log).rows
    assert list(rows["arguments"].map(lambda arguments: arguments["size"])) == [8388608] * 2


@pytest.mark.parametrize("more", [" unalign: 1", "\n# Blocking Enabled: wait (-m)"])
def test_blocking_runs_and_others_of_nccl_tests_are_no_repetitions(tmp_path, more):
    log = tmp_path / "log"
    log.write_text(f"{NCCL}\n{NCCL.replace('graph: 0', f'graph: 0{more}')}")
    with pytest.raises(ReportError, match="put each into a file of its own"):
        importers.convert(log, "nccl-tests", "h100-sxm")


def test_alltoallv_keeps_the_rates_that_it_states(tmp_path):
    log = nccl_log(tmp_path, f"{TITLES}  {TITLES}", f"40.00 60.00 30.00 0 {IN}")
    log.write_text(log.read_text().replace("all_reduce_perf", "alltoallv_perf"))
    found = row(
        imported(tmp_path, "nccl-tests", log),
        ALL_REDUCE.replace("all_reduce/dtype", "alltoallv/dtype").format("fp32", "out", 8388608),
    )
    assert found["algorithm_bytes_per_second"] == 60e9
    assert found["bus_bytes_per_second"] == 30e9


@pytest.mark.parametrize(
    ("unit", "rate"),
    [
        *(("MB", 2e6), ("GB", 2e3), ("TB", 2.0)),
        *(("MiB", 2e12 / 2**20), ("GiB", 2e12 / 2**30), ("TiB", 2e12 / 2**40)),
    ],
)
def test_units_of_babelstream(tmp_path, unit, rate):
    log = (SAMPLES / FILES["babelstream"]).read_text()
    log = log.replace("max_mbytes_per_sec", f"max_{unit}_per_sec").replace(
        "2000000", f"{rate:.17g}"
    )
    (tmp_path / "log").write_text(f'CUDA Device 0: "NVIDIA H100 80GB HBM3" 132 SMs(9,0)\n{log}')
    result = imported(tmp_path, "babelstream", tmp_path / "log")
    assert result.context.device_title == "NVIDIA H100 80GB HBM3"
    found = row(result, "stream/copy/dtype:fp64/bytes:8/unroll:1")
    assert found["useful_bytes_per_second"] == pytest.approx(1e12)


def test_a_check_that_failed_in_new_babelstream_is_not_measured(tmp_path):
    wrong = "FAILED validation of a[3]: 0.5 (is) != 0.1 (should), diff=0.4 > 1e-14"
    log = (SAMPLES / FILES["babelstream"]).read_text()
    (tmp_path / "log").write_text(f"{wrong}\n{log}")
    rows = imported(tmp_path, "babelstream", tmp_path / "log").rows
    assert set(zip(rows["status"], rows["reason"], strict=True)) == {("failed", wrong)}


def mixbench_log(tmp_path, titles, dtypes):
    """Each group's GFLOPS are 100 times its place."""
    groups = ", ".join(f"{0.5},1.00,{100.0 * place},50.00" for place in range(1, dtypes + 1))
    log = tmp_path / "mixbench.txt"
    log.write_text(f"mixbench-cpu (v1.0)\nExperiment ID, {titles}\n   8, {groups}\n")
    return log


@pytest.mark.parametrize(
    ("titles", "dtypes"),
    [
        (
            "Single Precision ops,,,,  Double precision ops,,,,  Integer operations,,, ",
            ["fp32", "fp64", "int32"],
        ),
        (
            "Single Precision ops,,,,  Packed Single Precision ops,,,,  Double precision ops,,,, "
            "Half precision ops,,,,    Integer operations,,, ",
            ["fp32", "fp32x2", "fp64", "fp16", "int32"],
        ),
    ],
)
def test_groups_of_mixbench_are_of_the_types_that_stand_above_them(tmp_path, titles, dtypes):
    result = imported(tmp_path, "mixbench", mixbench_log(tmp_path, titles, len(dtypes)), "")
    for place, dtype in enumerate(dtypes, start=1):
        found = row(result, f"roofline/mixbench/dtype:{dtype}/iterations:8")
        counter = "items_per_second" if dtype == "int32" else "flops_per_second"
        assert found[counter] == pytest.approx(place * 100e9)
    assert len(result.rows) == len(dtypes)


def test_nvbandwidth_names_its_gpus(tmp_path):
    document = json.loads((SAMPLES / FILES["nvbandwidth"]).read_text())
    names = [f"{n}: NVIDIA H100 80GB HBM3 (00000000:1{n}:00): (node1)" for n in range(2)]
    document["nvbandwidth"]["GPU Device list"] = names
    log = tmp_path / "log"
    log.write_text(json.dumps(document))
    assert imported(tmp_path, "nvbandwidth", log).context.device_title == "NVIDIA H100 80GB HBM3"
    with pytest.raises(ReportError, match="which gpubench calls h100-sxm, not a100-80-sxm"):
        importers.convert(log, "nvbandwidth", "a100-80-sxm")


def test_what_gpu_stream_says_between_figures_is_none_of_them(tmp_path):
    text = (SAMPLES / FILES["gpu-benches"]).read_text()
    remark = "! 15 blocks per SM "
    log = tmp_path / "log"
    log.write_text(text.replace("GB/s:        3600", f"GB/s: {remark}       3600 {remark}"))
    rows, plain = (imported(tmp_path, "gpu-benches", path).rows for path in (log, None))
    assert list(rows["name"]) == list(plain["name"])
    assert list(rows["seconds"]) == list(plain["seconds"])


def test_a_line_of_gpu_stream_that_was_cut_short_gives_no_row(tmp_path):
    text = (SAMPLES / FILES["gpu-benches"]).read_text().rstrip()
    (tmp_path / "log").write_text(text[: text.rindex("3100") + 1])
    rows = imported(tmp_path, "gpu-benches", tmp_path / "log").rows
    assert set(rows["arguments"].map(lambda arguments: arguments["block"])) == {512}
