"""What nccl-tests prints becomes rows of all_reduce."""

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results import importers

from .imports import SAMPLES, imported, row


def test_nccl_tests_have_the_suites_own_names(tmp_path):
    result = imported(tmp_path, "nccl-tests")
    assert result.context.imported_from == "nccl-tests 2.17.6"
    assert result.context.device_title == "NVIDIA H100 80GB HBM3"
    assert result.context.device == "h100-sxm"
    found = row(result, "all_reduce/all_reduce/dtype:bf16/place:out/ranks:2/size:8388608")
    assert found["seconds"] == pytest.approx(40e-6)
    assert found["bus_bytes_per_second"] == pytest.approx(8388608 / 40e-6)
    tiny = row(result, "all_reduce/all_reduce/dtype:fp32/place:in/ranks:2/size:8")
    assert tiny["seconds"] == pytest.approx(9.5e-6)
    assert tiny["bus_bytes_per_second"] == pytest.approx(8 / 9.5e-6)  # and not 0.00 GB/s
    wrong = row(result, "all_reduce/all_reduce/dtype:bf16/place:in/ranks:2/size:8388608")
    assert (wrong["status"], wrong["reason"]) == ("failed", "3 wrong elements")


def test_nccl_tests_that_mpirun_tagged_read_the_same(tmp_path):
    lines = (SAMPLES / "nccl-tests.txt").read_text().splitlines()
    tagged = tmp_path / "tagged.txt"
    tagged.write_text("\n".join(f"[1,0]<stdout>:{line}" for line in lines))
    assert list(imported(tmp_path, "nccl-tests", tagged).rows["name"]) == list(
        imported(tmp_path, "nccl-tests").rows["name"]
    )


@pytest.mark.parametrize(("verdict", "status"), [("0 OK", "ok"), ("2 FAILED", "failed")])
def test_a_difference_of_older_nccl_tests_is_no_wrong_element(tmp_path, verdict, status):
    ranks = [
        f"#   Rank  {rank} Pid  {rank} on  node1 device  {rank} [0x0{rank}] Tesla V100"
        for rank in range(2)
    ]
    half = "541.0   15.51   29.07  5e-07"
    log = tmp_path / "old.txt"
    log.write_text(
        "\n".join(
            [
                "# all_reduce_perf -g 2",
                *ranks,
                "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error",
                f"   8388608   2097152   float   sum   {half}   {half}",
                f"# Out of bounds values : {verdict}",
            ]
        )
    )
    rows = imported(tmp_path, "nccl-tests", log).rows
    assert list(rows["status"]) == [status] * 2
    assert [("2 values out of bounds" in why) for why in rows["reason"]] == [status != "ok"] * 2


def nccl_log(collective, gpus, microseconds):
    ranks = [f"#  Rank  {i} Group  0 Pid 1 on n device  {i} [0000:18:00] GPU" for i in range(gpus)]
    line = f"8388608 2097152 float sum -1 {microseconds} 1.0 1.0 0 {microseconds} 1.0 1.0 0"
    return [f"# {collective}_perf -g {gpus}", *ranks, line, f"# concluded: {collective}_perf"]


def test_each_run_of_a_log_of_nccl_tests_has_its_own_collective_and_ranks(tmp_path):
    log = tmp_path / "log.txt"
    runs = [nccl_log("all_gather", 2, 40), nccl_log("all_reduce", 8, 90)]
    runs.append(nccl_log("all_reduce", 4, 60))
    log.write_text("\n".join(line for run in runs for line in run))
    rows = imported(tmp_path, "nccl-tests", log).rows
    of_run = "all_reduce/{}/dtype:fp32/place:{}/ranks:{}/size:8388608"
    assert list(zip(rows["name"], rows["seconds"].round(9), strict=True)) == [
        (of_run.format(kernel, place, ranks), seconds)
        for kernel, ranks, seconds in (
            ("all_gather", 2, 40e-6),
            ("all_reduce", 8, 90e-6),
            ("all_reduce", 4, 60e-6),
        )
        for place in ("out", "in")
    ]
    # The second run does not say what it was, and is not taken for what the first one was.
    log.write_text("\n".join(runs[0] + runs[1][1:]))
    with pytest.raises(ReportError, match=r"run 2 of 2: does not say which collective"):
        imported(tmp_path, "nccl-tests", log)


@pytest.mark.parametrize(
    ("collective", "ranks", "algorithm", "bus"),
    [
        ("all_reduce", 8, 1.0, 1.75),
        ("all_gather", 8, 1.0, 0.875),
        ("broadcast", 8, 1.0, 1.0),
        ("hypercube", 8, 0.875, 0.875),
    ],
)
def test_rates_of_nccl_tests_have_the_digits_of_the_time(
    tmp_path, collective, ranks, algorithm, bus
):
    """512 bytes in 11.30 and 11.45 us are 0.05 and 0.04 GB/s in print."""
    for time in ("11.30", "11.45"):
        rate = 512 / float(time) * 1e-3
        printed = f"{time} {rate * algorithm:.2f} {rate * bus:.2f} 0"
        log = tmp_path / "log.txt"
        *head, _, _ = nccl_log(collective, ranks, 0)
        log.write_text("\n".join([*head, f"512 128 float sum -1 {printed} {printed}"]))
        found = imported(tmp_path, "nccl-tests", log).timed[0]
        assert found["useful_bytes_per_second"] == pytest.approx(rate * algorithm * 1e9)
        assert found["bus_bytes_per_second"] == pytest.approx(rate * bus * 1e9)


def test_a_rate_that_is_not_that_of_size_and_time_stays_as_printed(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("\n".join(nccl_log("all_reduce", 2, 40)))
    assert imported(tmp_path, "nccl-tests", log).timed[0]["useful_bytes_per_second"] == 1e9


@pytest.mark.parametrize(
    ("printed", "is_exact"),
    [
        ("12.80 0.040 0.040", True),  # 512 bytes in 12.80 us, without a rest
        ("12.80 0.04 0.04", True),
        ("12.80 0.05 0.05", False),  # a last digit off: not what 0.040 rounds to
        ("12.80 0.03 0.03", False),
        ("10 0.06 0.06", False),  # at most 512 / 9.5 = 0.054, which is 0.05
        ("10 0.05 0.05", True),
        ("11.38 0.045 0.045", True),  # 0.04499
    ],
)
def test_a_rate_is_taken_from_the_time_where_rounding_explains_it(tmp_path, printed, is_exact):
    *head, _, _ = nccl_log("broadcast", 8, 0)
    log = tmp_path / "log.txt"
    log.write_text("\n".join([*head, f"512 128 float none 0 {printed} 0 {printed} 0"]))
    time, rate, _ = map(float, printed.split())
    found = imported(tmp_path, "nccl-tests", log).timed[0]["useful_bytes_per_second"]
    assert found == pytest.approx(512 / (time * 1e-6) if is_exact else rate * 1e9, rel=1e-9)


def nccl_table(*operations):
    lines = nccl_log("all_reduce", 2, 0)[:-2]
    for operation, microseconds in operations:
        times = f"{microseconds} 1.0 1.0 0 {microseconds} 1.0 1.0 0"
        lines.append(f"8388608 2097152 float {operation} {times}")
    return lines


def test_reductions_and_roots_of_nccl_tests_are_rows_of_their_own(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("\n".join(nccl_table(("sum -1", 20), ("prod -1", 40), ("none 3", 60))))
    rows = imported(tmp_path, "nccl-tests", log).rows
    of = "all_reduce/all_reduce/dtype:fp32/place:out/ranks:2/{}size:8388608"
    assert list(zip(rows["name"], rows["seconds"].round(9), strict=True))[::2] == [
        (of.format(""), 20e-6),
        (of.format("redop:prod/"), 40e-6),
        (of.format("root:3/"), 60e-6),
    ]


def test_a_run_twice_in_one_log_is_repeated(tmp_path):
    log = tmp_path / "log.txt"
    run = "\n".join(nccl_table(("sum -1", 20)))
    log.write_text(f"{run}\n{run.replace(' 20 ', ' 30 ')}\n")
    document = importers.convert(log, "nccl-tests")
    out = [row for row in document["benchmarks"] if row["arguments"]["place"] == "out"]
    assert [(row["repetitions"], row["repetition_index"]) for row in out] == [(2, 0), (2, 1)]
    assert len(imported(tmp_path, "nccl-tests", log).rows) == 2
