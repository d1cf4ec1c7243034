"""Calibration: rules on rows made by hand, the file and the table, bad input."""

import json
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.results import device_files
from gpubench_reports.rules import calibration
from gpubench_reports.rules.expressions import Expression

from .factory import make_document, make_row

H200 = device_files.read_device("h200-sxm")
B200 = device_files.read_device("b200")
CLOCK = 1.8e9
FLOOR = make_row(
    "launch_overhead/empty_row/by:stream/launches:1", 4e-6, empty_kernel_seconds=2.5e-6
)


def fp32_row(rate, **more):
    """A row of a millisecond beside an empty kernel's time, at so many FLOP per clock and SM."""
    seconds = 1e-3 + 2.5e-6
    flops = rate * 132 * CLOCK * 1e-3
    counters = {"flops_per_second": flops / seconds, "sm_clock_hz": CLOCK, "converged": 1}
    return make_row("compute_peak/fma/dtype:fp32", seconds, **(counters | more))


def run(load, rows, base=H200, from_model=False, by=None, **context):
    return calibration.calibrate(load(rows, **context), base, from_model, by or calibration.rules())


def figures(found):
    return {one.figure: one.value for one in found.figures}


def rules_of(*rules):
    """calibration.toml with these rules: dicts, to which what is missing is added."""
    text = 'schema = 1\nmode = "cold"\nkept = []\n'
    for rule in rules:
        filled = {"rows": "a/b/.*", "why": "w", "assumes": "a", **rule}
        lines = (f"{key} = {_toml(value)}" for key, value in filled.items())
        text += "\n[[rule]]\n" + "\n".join(lines) + "\n"
    return calibration.rules_of(text)


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(text)}" for key, text in value.items()) + "}"
    return json.dumps(value)


# --- rules ----------------------------------------------------------------------------------------


def test_every_figure_is_measured_by_a_rule_or_by_nobody_and_never_both():
    by = calibration.rules()
    measured = {rule.figure for rule in by.rules}
    assert not measured & set(by.kept)
    assert measured | set(by.kept) == set(device_files.figure_rules())


def test_each_rule_says_why_in_a_sentence():
    for rule in calibration.rules().rules:
        assert rule.why.endswith("."), rule.figure
        assert rule.assumes.endswith("."), rule.figure


def test_a_rate_is_over_the_time_beside_an_empty_kernel_and_the_clock_of_the_row(load):
    found = run(load, [FLOOR, fp32_row(240)])
    assert figures(found)["kernel_floor_seconds"] == pytest.approx(2.5e-6)
    assert figures(found)["fp32_flops_per_clock_per_sm"] == pytest.approx(240, rel=1e-5)


def test_without_its_row_a_figure_that_others_need_is_the_bases(load):
    found = run(load, [fp32_row(240)])
    [one] = found.figures
    # A millisecond and 2.5 us, less the 4.2 us of the file.
    assert one.value == pytest.approx(240 / 0.9983, rel=1e-5)
    assert one.from_base == ("kernel_floor_seconds",)


def test_several_rows_have_a_median_a_mean_or_a_best(load):
    rows = [make_row(f"a/b/n:{n}", 1e-3, x=n) for n in (1, 2, 6)]
    for take, value in (("median", 2), ("mean", 3), ("largest", 6)):
        by = rules_of({"figure": "l1_latency_cycles", "value": "row.x", "take": take})
        [one] = run(load, rows, by=by).figures
        assert one.value == value
        assert len(one.rows) == 3


def tensor_row(kernel, rate):
    """A row of a millisecond on a B200, at so many FLOP per clock and SM in bf16."""
    seconds = 1e-3 + 2.5e-6
    counters = {"sm_clock_hz": CLOCK, "converged": 1}
    counters["flops_per_second"] = rate * B200.value("sm_count") * CLOCK * 1e-3 / seconds
    return make_row(f"compute_peak/{kernel}/dtype:bf16", seconds, **counters)


def test_the_tensor_cores_rate_is_that_of_the_fastest_way_to_use_them(load):
    """Products of two SMs together or of one, and mma.sync is compared with the faster ones."""
    one, mma = tensor_row("tcgen05", 8000), tensor_row("mma", 2050)
    for pairs, rate in (([], 8000), ([8200], 8200), ([7800], 8000)):
        rows = [FLOOR, one, mma, *(tensor_row("tcgen05_pair", pair) for pair in pairs)]
        found = figures(run(load, rows, B200, device="b200", device_title=B200.document["title"]))
        assert found["tensor_bf16_flops_per_clock_per_sm"] == pytest.approx(rate, rel=1e-3)
        assert found["mma_sync_efficiency"] == pytest.approx(2050 / rate, rel=1e-3)


def test_only_values_that_there_can_be(load):
    by = rules_of({"figure": "dram_fetch_bytes", "value": "row.x", "nearest": [32, 64, 128]})
    for measured, value in ((35, 32), (59, 64), (88, 64), (95, 128)):
        [one] = run(load, [make_row("a/b/n:1", x=measured)], by=by).figures
        assert one.value == value


def test_other_rows_are_found_by_the_arguments_of_the_row(load):
    by = rules_of(
        {
            "figure": "mma_sync_efficiency",
            "value": "row.x / best.x",
            "rows": "a/some/dtype:.*",
            "with": {"best": "a/all/dtype:{dtype}"},
        }
    )
    rows = [
        make_row("a/some/dtype:bf16", x=3),
        make_row("a/all/dtype:fp16", x=10),
        make_row("a/all/dtype:bf16", x=4),
    ]
    assert figures(run(load, rows, by=by)) == {"mma_sync_efficiency": 0.75}


def test_the_next_rule_is_taken_where_one_gives_nothing(load):
    by = rules_of(
        {"figure": "l1_latency_cycles", "rows": "a/absent", "value": "row.x"},
        {"figure": "l1_latency_cycles", "value": "row.x"},
    )
    assert figures(run(load, [make_row("a/b/n:1", x=7)], by=by)) == {"l1_latency_cycles": 7}


def test_of_a_multiplication_the_tile_is_known(load):
    by = rules_of({"figure": "l1_latency_cycles", "value": "row.tile_m - row.tile_n"})
    row = make_row("a/b/n:1", tile="128x64")
    assert figures(run(load, [row], by=by)) == {"l1_latency_cycles": 64}


GOOD = make_row("a/c/n:1", x=5)
REASONS = {
    "no row a/b/": [],
    "a/b/n:1 skipped: no such unit": [
        make_row("a/b/n:1", skipped=True, skip_reason="no such unit")
    ],
    "a/b/n:1 failed: wrong sum": [
        make_row("a/b/n:1", error_occurred=True, error_message="wrong sum")
    ],
    "a/b/n:1 did not converge": [make_row("a/b/n:1", x=1, converged=0, sm_clock_hz=1e9)],
    "a/b/n:1 ran throttled": [make_row("a/b/n:1", x=1, throttled=1, sm_clock_hz=1e9)],
    "a/b/n:1: its clock is not known": [make_row("a/b/n:1", x=1, y=1)],
    "a/b/n:1 has no x": [make_row("a/b/n:1", sm_clock_hz=1e9)],
    "its figures have no result": [make_row("a/b/n:1", x=1, sm_clock_hz=1e9, y=0)],
    "x is too small": [make_row("a/b/n:1", x=0.5, sm_clock_hz=1e9, y=1)],
    "comes to 2, must be above 0, at most 1": [make_row("a/b/n:1", x=2, sm_clock_hz=1e9, y=1)],
}


@pytest.mark.parametrize("why", REASONS)
def test_why_a_figure_could_not_be_calibrated(load, why):
    by = rules_of(
        {
            "figure": "mma_sync_efficiency",
            "value": "row.x / row.y * row.clock / 1e9",
            "only_if": "row.x >= 1",
            "unless": "x is too small",
        },
        {"figure": "l1_latency_cycles", "rows": "a/c/n:1", "value": "row.x"},
    )
    found = run(load, [GOOD, *REASONS[why]], by=by)
    assert figures(found) == {"l1_latency_cycles": 5}
    assert why in found.missed["mma_sync_efficiency"]


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_where_no_lines_are_far_none_has_a_latency(load, share):
    row = make_row("memory_hierarchy/partitions", far_cycles=283, far_share=share)
    found = run(load, [fp32_row(200), row | {"sm_clock_hz": CLOCK, "converged": 1}])
    assert ("l2_far_latency_cycles" in figures(found)) == (share > 0)


def test_a_row_that_is_no_good_leaves_the_others(load):
    by = rules_of({"figure": "l1_latency_cycles", "value": "row.x"})
    rows = [make_row("a/b/n:1", x=4), make_row("a/b/n:2", x=40, throttled=1)]
    [one] = run(load, rows, by=by).figures
    assert (one.value, one.rows) == (4, ("a/b/n:1",))


def test_a_modelled_row_has_no_noise_to_converge_from(load):
    by = rules_of({"figure": "l1_latency_cycles", "value": "row.x"})
    row = make_row("a/b/n:1", x=4, converged=0)
    found = run(load, [row], by=by, from_model=True, device_kind="model")
    assert figures(found) == {"l1_latency_cycles": 4}


@pytest.mark.parametrize(
    "text", ["__import__('os')", "row.x.y", "row['x']", "open('f')", "1 if x else 2", "x ** 9", "("]
)
def test_an_expression_is_arithmetic_and_nothing_else(text):
    with pytest.raises(ValueError, match=r"expression"):
        Expression(text)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"value": "row.x * sm_cuont"}, "nothing is called 'sm_cuont'"),
        ({"take": "best"}, "no way to take is called 'best'"),
        ({"only_if": "row.x > 1"}, "only_if and unless belong together"),
        ({"nearset": [1]}, "unknown key 'nearset'"),
    ],
)
def test_a_rule_that_cannot_be_one_is_an_error(change, why):
    with pytest.raises(ValueError, match=why):
        rules_of({"figure": "l1_latency_cycles", "value": "row.x", **change})


# --- file and table -------------------------------------------------------------------------------


def test_the_file_has_what_was_measured_and_keeps_the_rest(load):
    found = run(load, [FLOOR, fp32_row(240)])
    device = json.loads(calibration.device_text(found, "mine"))
    base = H200.document
    assert device["name"] == "mine"
    figure = device["figures"]["fp32_flops_per_clock_per_sm"]
    assert (figure["value"], figure["from"]) == (pytest.approx(240, rel=1e-5), "calibrated")
    source = device["sources"][figure["source"]]
    for part in (
        "compute_peak/fma/dtype:fp32",
        "2026-11-21",
        "driver 580.65",
        "CUDA 13.0",
        "gpubench 0123456789ab",
    ):
        assert part in source
    changed = {one.figure for one in found.figures}
    assert {k: v for k, v in device["figures"].items() if k not in changed} == {
        k: v for k, v in base["figures"].items() if k not in changed
    }
    for key in ("title", "matches", "compute_capability", "peak_clocks"):
        assert device[key] == base[key]


def test_a_modelled_figure_says_so_and_is_assumed(load):
    found = run(load, [FLOOR, fp32_row(240)], from_model=True, device_kind="model")
    figure = json.loads(calibration.device_text(found, "mine"))["figures"]["kernel_floor_seconds"]
    assert figure["from"] == "assumed"
    assert figure["source"].startswith("MODELLED, not measured")


def test_the_command_prints_old_and_new_and_what_is_missing(write, tmp_path, capsys):
    path = write(make_document([FLOOR, fp32_row(240)]))
    out = tmp_path / "mine.json"
    assert main(["calibrate", str(path), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if "fp32_flops_per_clock_per_sm" in line]
    assert line.split() == [
        "fp32_flops_per_clock_per_sm",
        "256.0",
        "FLOP",
        "data_sheet",
        "240.0",
        "FLOP",
        "-6.2",
        "%",
        "compute_peak/fma/dtype:fp32",
    ]
    assert "shared_latency_cycles: no row of memory_hierarchy in the file" in printed
    assert "no row is bound by special functions: sfu_ops_per_clock_per_sm" in printed
    assert "MODELLED" not in printed
    assert printed.splitlines()[-1] == str(out)
    assert device_files.read_device(str(out)).value("kernel_floor_seconds") == 2.5e-6


# --- bad input ------------------------------------------------------------------------------------


@pytest.fixture
def refused(write, tmp_path, capsys, monkeypatch):
    """refused(options..., rows, **context) -> the one line; nothing was written."""

    def run_refused(*options, rows=None, document=None, **context):
        monkeypatch.chdir(tmp_path)
        path = write(document or make_document(rows or [FLOOR, fp32_row(240)], **context))
        before = sorted(tmp_path.rglob("*"))
        assert main(["calibrate", str(path), *options]) == 2
        assert sorted(tmp_path.rglob("*")) == before
        [line] = capsys.readouterr().err.splitlines()
        return line

    return run_refused


def test_bad_input_is_one_line(refused, write):
    assert "is modelled: it would give back" in refused(device_kind="model")
    assert "was measured: --from-model is for" in refused("--from-model")
    assert "is truncated" in refused(document='{"context": {')
    assert "unknown device 'h200'" in refused("--base", "h200")
    assert "known are" in refused(device="some-gpu")
    assert "no such file" in refused("--base", "./none.json").lower()
    assert "the base a100-80-sxm describes" in refused("--base", "a100-80-sxm")
    assert "knows roofs only" in refused("--base", "mi300x")
    assert "comes from nccl-tests" in refused(imported_from="nccl-tests")
    assert "is of mode 'hot'" in refused(mode="hot")
    assert "gives no figure at all" in refused(rows=[make_row("a/b/n:1")])
    assert "must be called mine.json" in refused("--name", "mine", "--out", "other.json")
    for name in ("../mine", "a/b", "/tmp/mine", ""):
        line = f"gpubench-report: --name: '{name}' cannot be the name of a device file"
        assert refused("--name", name) == line
    assert "no file can be called as its device, '../x': --name" in refused(device="../x")
    bad = write(
        {"figures": {"sm_cuont": {}}, "name": "x", "title": "x", "kind": "gpu", "sources": {}},
        "x.json",
    )
    assert "sm_cuont: no figure is called so" in refused("--base", str(bad))


def test_a_modelled_file_never_overwrites_a_device_that_ships(refused):
    shipped = device_files.DEVICES / "h200-sxm.json"
    before = shipped.read_bytes()
    line = refused("--from-model", "--out", str(shipped), device_kind="model")
    assert "is a device file that ships" in line
    assert shipped.read_bytes() == before


def test_the_filter_asks_for_each_row_and_needs_no_file(capsys):
    assert main(["calibrate", "--filter"]) == 0
    pattern = capsys.readouterr().out.strip()
    assert pattern.startswith("^(")
    assert "compute_peak/wgmma/dtype:[^/]+" in pattern
    assert "{" not in pattern


def test_the_shipped_files_are_read():
    for name in device_files.shipped_devices():
        path = Path(device_files.DEVICES / f"{name}.json")
        if json.loads(path.read_text())["kind"] == "gpu":
            assert device_files.read_device(name).name == name
