"""The model's counts beside ncu's: reading ncu's page, pairing launches, saying what differs."""

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons import counters, ncu_profile
from gpubench_reports.results.reader import read

from .factory import make_document, make_row
from .profiles import metrics_of, ncu_csv

FIGURES = {
    "blocks": 4096,
    "threads_per_block": 256,
    "traced_blocks": 4096,
    "registers": 18,
    "shared_bytes": 0,
    "local_bytes": 0,
    "local_moved_bytes": 0,
    "resident_blocks": 8,
    "occupancy": 1.0,
    "global_load_requests": 32768,
    "global_load_sectors": 131072,
    "global_load_bytes": 4194304,
    "global_store_requests": 32768,
    "global_store_sectors": 131072,
    "global_store_bytes": 4194304,
}
ROW = "coalescing/strided_read/dtype:fp32/stride:4"
KERNEL = "coalescing::strided_read<float>"
SIGNATURE = "void coalescing::strided_read<float>(const float *, float *, unsigned long)"


def launch(kernel: str = KERNEL, times: int = 1, **changes: Any) -> dict[str, Any]:
    departures = changes.pop("departures", None)
    one = {"kernel": kernel, "times": times, "figures": FIGURES | changes}
    return one | ({"departures": departures} if departures else {})


@pytest.fixture
def compared(write):
    """compared(launches of ROW, launches of the profile, **keys of the row) -> Comparison"""

    def compare(launches, profile, **row):
        result = read(write(make_document([make_row(ROW, launches=launches, **row)])))
        return counters.compare(result, ncu_profile.read_profile(write(ncu_csv(profile), "p.csv")))

    return compare


def test_equal_counts_are_equal(compared):
    found = compared([launch()], [(ROW, SIGNATURE, metrics_of(FIGURES))])
    assert (found.launches, found.differences, found.alone) == (1, [], [])
    # What neither of the two has, such as atomics, is no agreement.
    assert found.equal["global_load_sectors"] == found.equal["occupancy"] == 1
    assert "global_atomic_requests" not in found.equal


def test_a_difference_has_both_figures(compared):
    other = metrics_of(FIGURES | {"global_load_sectors": 262144})
    (one,) = compared([launch()], [(ROW, SIGNATURE, other)]).differences
    assert (one.figure, one.model, one.profiler, one.why) == (
        "global_load_sectors",
        131072,
        262144,
        "",
    )
    assert (one.row, one.kernel) == (ROW, "strided_read")


def test_what_only_the_profiler_counts_is_a_difference(compared):
    other = metrics_of(FIGURES | {"shared_load_requests": 7})
    (one,) = compared([launch()], [(ROW, SIGNATURE, other)]).differences
    assert (one.figure, one.model, one.profiler) == ("shared_load_requests", 0, 7)


def test_what_the_model_does_not_know_is_not_compared(compared):
    known = {name: value for name, value in FIGURES.items() if name != "registers"}
    launches = [{"kernel": KERNEL, "times": 1, "figures": known}]
    found = compared(launches, [(ROW, SIGNATURE, metrics_of(FIGURES))])
    assert found.differences == []
    assert "registers" not in found.equal


@pytest.mark.parametrize(
    ("change", "row", "figure", "why"),
    [
        (
            {"departures": {"global load": "the compiled kernel loads 16 bytes at once"}},
            {},
            "global_load_requests",
            "loads 16 bytes at once",
        ),
        ({"async_copies": 5}, {}, "global_load_requests", "asynchronous copies"),
        ({"bulk_copies": 5}, {}, "shared_store_requests", "copy engine"),
        ({}, {"rule": "unconfirmed"}, "shared_load_wavefronts", "earlier GPUs"),
        ({"traced_blocks": 32}, {}, "global_load_sectors", "traced 32 of 4096 blocks"),
        ({}, {}, "fma_fp32", "called by name"),
        ({"fma_16x2": 0}, {}, "fma_16x2", "loads constants"),
        ({"remote_load_requests": 5}, {}, "global_load_bytes", "another block's"),
        ({}, {}, "registers", ""),
    ],
)
def test_what_is_known_of_a_difference_is_said(compared, change, row, figure, why):
    other = metrics_of(FIGURES | {figure: FIGURES.get(figure, 0) + 5000})
    (one,) = compared([launch(**change)], [(ROW, SIGNATURE, other)], **row).differences
    assert one.figure == figure
    assert why in one.why
    assert bool(why) == bool(one.why)


def test_no_kernel_is_given_fewer_than_16_registers(compared):
    other = metrics_of(FIGURES | {"registers": 16})
    profile = [(ROW, SIGNATURE, other)]
    assert compared([launch(registers=14)], profile).differences == []
    assert len(compared([launch(registers=18)], profile).differences) == 1


def test_a_sample_of_the_blocks_may_be_one_percent_off(compared):
    other = metrics_of(FIGURES | {"global_load_sectors": 131072 * 1.005})
    profile = [(ROW, SIGNATURE, other)]
    assert compared([launch(traced_blocks=32)], profile).differences == []
    assert len(compared([launch()], profile).differences) == 1


def test_launches_are_paired_by_kernel_in_their_order(compared):
    other = "void coalescing::combine(float *)"
    second = metrics_of(FIGURES | {"registers": 30})
    found = compared(
        [launch(times=2), launch("coalescing::combine", registers=30)],
        [
            (ROW, SIGNATURE, metrics_of(FIGURES)),
            (ROW, other, second),
            (ROW, SIGNATURE, metrics_of(FIGURES)),
        ],
    )
    assert (found.launches, found.differences, found.alone) == (3, [], [])


def test_launches_of_one_side_only_are_named(compared):
    found = compared(
        [launch(), launch("coalescing::gone")],
        [
            (ROW, SIGNATURE, metrics_of(FIGURES)),
            (ROW, "cub::sum(int)", metrics_of(FIGURES)),
            ("another/row", SIGNATURE, metrics_of(FIGURES)),
        ],
    )
    assert found.launches == 1
    assert found.alone == [
        f"{ROW}: 1 of gone only on the model",
        f"{ROW}: 1 of sum only in the profile",
    ]


def test_rows_that_the_profile_lacks_are_named(write):
    rows = [make_row(name, launches=[launch()]) for name in (ROW, "a/b/n:1", "a/b/n:2")]
    profile = ncu_profile.read_profile(
        write(ncu_csv([(ROW, SIGNATURE, metrics_of(FIGURES))]), "p.csv")
    )
    found = counters.compare(read(write(make_document(rows))), profile)
    assert (found.rows, found.unprofiled) == (1, ["a/b/n:1", "a/b/n:2"])


def test_a_profile_of_other_rows_is_an_error(compared):
    with pytest.raises(ReportError, match="no launch in common"):
        compared([launch()], [("", SIGNATURE, metrics_of(FIGURES))])


def test_a_profile_without_the_metrics_agrees_in_nothing(compared):
    with pytest.raises(ReportError, match="no figure in common with the profile"):
        compared([launch()], [(ROW, SIGNATURE, {"gpu__time_duration.sum": 1e6})])


@pytest.mark.parametrize(
    ("change", "figure", "factor", "why"),
    [
        ({}, "shared_load_bytes", 1 / 32, "counts a word once that several lanes read"),
        ({"traced_blocks": 32}, "global_load_sectors", 1.5, "traced 32 of 4096 blocks"),
        ({"traced_blocks": 32}, "global_load_sectors", 32, ""),
        ({"local_moved_bytes": 1000}, "local_moved_bytes", 32, ""),
        ({"local_moved_bytes": 1000, "local_bytes": 8}, "local_moved_bytes", 32, "moved once"),
    ],
)
def test_a_reason_is_given_only_where_it_can_be_one(compared, change, figure, factor, why):
    known = FIGURES | {"shared_load_bytes": 131072} | change
    other = metrics_of(known | {figure: known[figure] * factor})
    (one,) = compared([launch(**known)], [(ROW, SIGNATURE, other)]).differences
    assert (one.figure, why in one.why, bool(why)) == (figure, True, bool(one.why))


def test_kernels_have_one_name_however_they_are_spelled():
    same = {
        "void a::k<(int)2, float>(const float *)",
        "a::k<2, float>",
        "a::k",
        "void a::k<b::pair<int, (b::kind)1>>(int)",
        "void k<float>(const T1 *, int)",  # as ncu 2025.3 does
        "void <unnamed>::k(int)",
        "(anonymous namespace)::k",
    }
    assert {ncu_profile.kernel_of(name) for name in same} == {"k"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
            "counters are not permitted here (ERR_NVGPUCTRPERM)",
        ),
        ("==WARNING== No kernels were profiled.\n", "No kernels were profiled"),
        ("", "no line"),
        ('"ID","Section Name"\n', "no column 'Kernel Name'"),
    ],
)
def test_a_profile_of_nothing_says_why(write, text, words):
    with pytest.raises(ReportError) as error:
        ncu_profile.read_profile(write(text, "p.csv"))
    assert words in str(error.value)


def test_a_profile_whose_units_ncu_chose_is_refused(write):
    metric = "smsp__sass_data_bytes_mem_global_op_ld.sum"
    page = f'"ID","Kernel Name","{metric}"\n"","","{{}}"\n"0","k","268.44"\n'
    with pytest.raises(ReportError, match=f"{metric} is in Mbyte and rounded: .* --print-units"):
        ncu_profile.read_profile(write(page.format("Mbyte"), "p.csv"))
    (launch,) = ncu_profile.read_profile(write(page.format("byte"), "p.csv"))
    assert launch.metrics[metric] == 268.44


def test_times_are_compared_where_a_row_is_one_long_launch(write):
    clock = 1.5e9
    rows = [
        make_row("a/long", 1.01e-3, sm_clock_hz=clock),
        make_row("a/short", 1e-6),
        make_row("a/slow_clock", 2e-3, sm_clock_hz=clock),
        make_row("a/twice", 1e-3),
    ]
    profile = [
        (name, f"a::{name[2:]}(int)", {"gpu__time_duration.sum": ns, "sm__cycles_elapsed.max": c})
        for name, ns, c in [
            ("a/long", 1e6, 1.5e6),
            ("a/short", 2e3, 3e3),
            ("a/slow_clock", 1e6, 3e6),
            ("a/twice", 5e5, 1),
            ("a/twice", 5e5, 1),
        ]
    ]
    timed = read(write(make_document(rows, mode="hot")))
    launches = ncu_profile.read_profile(write(ncu_csv(profile), "p.csv"))
    found = {one.row: one for one in counters.timings(timed, launches)}
    assert set(found) == {"a/long", "a/short", "a/slow_clock"}
    assert found["a/long"].ratio == pytest.approx(1.01)
    assert (found["a/long"].expected, found["a/short"].expected) == (True, False)
    # Twice the seconds at half the clock are as many cycles.
    assert (found["a/slow_clock"].ratio, found["a/slow_clock"].in_cycles) == (1, True)


def test_the_command_prints_every_difference(write, capsys):
    result = write(make_document([make_row(ROW, 1e-3, launches=[launch()])], mode="hot"))
    other = metrics_of(FIGURES | {"registers": 40}) | {"gpu__time_duration.sum": 2e6}
    profile = write(ncu_csv([(ROW, SIGNATURE, other)]), "p.csv")
    assert main(["counters", str(result), str(profile), "--times", str(result)]) == 0
    printed = capsys.readouterr().out
    assert "launches compared: 1" in printed
    (line,) = [line for line in printed.splitlines() if "not explained" in line]
    assert line.split()[:5] == [ROW, "strided_read", "registers", "18", "40"]
    assert "0 of 1 rows within 2 % of the profiler's" in printed
    assert main(["counters", str(result), str(profile), "--times", str(result), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    difference = found["counts"]["differences"][0]
    assert (difference["figure"], difference["model"], difference["profiler"]) == (
        "registers",
        18,
        40,
    )
    assert found["times"][0]["row"] == ROW
    assert main(["counters", str(result)]) == 2
    assert "no profile" in capsys.readouterr().err


def test_whatever_is_wrong_with_the_times_is_said_before_anything_is_compared(write, capsys):
    result = write(make_document([make_row(ROW, launches=[launch()])]))
    odd = write(ncu_csv([("another/row", SIGNATURE, metrics_of(FIGURES))]), "odd.csv")
    assert main(["counters", str(result), str(odd)]) == 2
    assert "no launch in common" in capsys.readouterr().err
    assert main(["counters", str(result), str(odd), f"--times={write('{', 'broken.json')}"]) == 2
    assert "broken.json" in capsys.readouterr().err


def test_a_page_that_is_cut_off_is_refused(write):
    path = write('"ID","Process ID","Kernel Name"\n"","",""\n"0","1"\n', "p.csv")
    with pytest.raises(ReportError, match="a line ends before"):
        ncu_profile.read_profile(path)


# --- the metrics' names, by the library that a profiler asks --------------------------------------


class _Initialize(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("reserved", ctypes.c_void_p),
        ("kind", ctypes.c_int),
        ("chip", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
    ]


class _Properties(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("reserved", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
        ("unit", ctypes.c_char_p),
        ("dimension", ctypes.c_char_p),
        ("kind", ctypes.c_int),
    ]


def libraries() -> Iterator[Path]:
    for place in (Path("/usr/local/cuda/lib64"), Path("/usr/local/cuda/extras/CUPTI/lib64")):
        yield from place.glob("libcupti.so.1[3-9]")


@pytest.mark.parametrize("chip", ["TU102", "GA100", "AD102", "GH100", "GB100", "GB202"])
def test_the_profiler_has_every_metric(chip):
    path = next(libraries(), None)
    if path is None:
        pytest.skip("no CUPTI of CUDA 13 here")
    cupti = ctypes.CDLL(str(path))
    start = _Initialize(ctypes.sizeof(_Initialize), None, 0, chip.encode(), None, None)
    assert cupti.cuptiProfilerHostInitialize(ctypes.byref(start)) == 0

    def is_known(metric: str) -> bool:
        asked = _Properties(_Properties.kind.offset + 4, None, start.host, metric.encode())
        return cupti.cuptiProfilerHostGetMetricProperties(ctypes.byref(asked)) == 0

    assert not is_known("l1tex__t_requests_pipe_lsu_mem_global_op_loads.sum")
    # ncu computes the others itself, of the launch and the device.
    own = ("launch__", "sm__maximum_warps_per_active_cycle_pct")
    names = [name for name in ncu_profile.metrics() if not name.startswith(own)]
    assert len(names) > 20
    assert [name for name in names if not is_known(name)] == []
