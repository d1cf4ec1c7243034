"""The wall that holds up a training step, from rows made by hand."""

from __future__ import annotations

import json
import math
import re

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.html.build import build
from gpubench_reports.results.doubts import doubts_line
from gpubench_reports.results.reader import read
from gpubench_reports.rules.steps import diagnose_steps, gains, rules, wall_of
from gpubench_reports.rules.verdicts.rulebook import HELD_BY

from .factory import make_document, make_row

WALLS = ("compute", "bandwidth", "overhead", "communication", "starved")


def step(switch="nothing", hidden=2048, hfu=0.5, **seconds):
    """A row of `hidden` whose walls take so many seconds; a wall without any is absent."""
    whole = sum(seconds.values())
    parts = {f"{wall}_seconds": seconds[wall] for wall in WALLS if seconds.get(wall)}
    idle = whole - seconds.get("compute", 0) - seconds.get("bandwidth", 0)
    return make_row(
        f"training_step/step/with:{switch}/hidden:{hidden}",
        whole,
        label="tensor",
        step_seconds=whole,
        gpu_idle_fraction=idle / whole,
        mfu=hfu,
        hfu=hfu,
        **parts,
    )


SIX = {
    "starved": {"compute": 6.0, "bandwidth": 2.0, "starved": 3.0},
    "communication": {"compute": 6.0, "bandwidth": 2.0, "communication": 3.0, "overhead": 1.0},
    "overhead": {"compute": 1.0, "bandwidth": 0.5, "overhead": 1.0},
    "bandwidth": {"compute": 6.0, "bandwidth": 5.0},
    "slow products": {"compute": 12.0, "bandwidth": 2.0},
    "compute": {"compute": 6.0, "bandwidth": 2.0},
}


def diagnosed(write, *rows):
    return diagnose_steps(read(write(make_document(list(rows)))))


@pytest.mark.parametrize("wall", SIX)
def test_each_wall_is_named(write, wall):
    hfu = 0.3 if wall == "slow products" else 0.5
    (found,) = diagnosed(write, step(hfu=hfu, **SIX[wall]))
    part = "compute" if wall == "slow products" else wall
    assert found.wall == wall
    assert found.share == pytest.approx(SIX[wall][part] / sum(SIX[wall].values()))
    assert found.parts == {one: SIX[wall].get(one, 0) for one in WALLS}
    if "products" in wall or wall == "compute":
        assert math.isnan(found.at_most), "a step has products"
    else:
        assert found.at_most == pytest.approx(1 / (1 - found.share))


def test_every_wall_has_a_rule_and_a_pattern_of_verdicts():
    walls = [wall["name"] for wall in rules()["walls"]]
    assert walls == [*SIX]
    assert walls == [*HELD_BY.values()]
    assert {wall["seconds"] for wall in rules()["walls"]} == {f"{part}_seconds" for part in WALLS}


@pytest.mark.parametrize(
    ("layers", "gpus", "words"), [(2, 8, ("2 layers", "8 GPUs")), (1, 1, ("1 layer", "one GPU"))]
)
def test_a_row_says_what_is_trained(write, layers, gpus, words):
    figures = {"layers": layers, "vocabulary": 50304, "tokens_per_step": 8192, "gpus": gpus}
    (found,) = diagnosed(write, step(compute=1.0) | figures)
    said = (words[0], "a vocabulary of 50304", "8192 tokens a step", words[1], "one step a row")
    assert found.model == ", ".join(said)


@pytest.mark.parametrize(("high", "stable"), [(1.02, True), (1.2, False)])
def test_an_interval_tells_whether_a_step_is_stable(write, high, stable):
    row = step(compute=1.0) | {"ci_low_seconds": 1.0, "ci_high_seconds": high}
    (found,) = diagnose_steps(read(write(make_document([row], device_kind="cuda"))))
    assert found.answers[0].yes is stable


def test_the_stability_of_a_modelled_step_is_not_observed(write):
    row = step(compute=1.0) | {"ci_low_seconds": 1.0, "ci_high_seconds": 1.0}
    (found,) = diagnose_steps(read(write(make_document([row], device_kind="model"))))
    assert found.answers[0].yes is None


def test_the_gpu_is_not_busy_where_it_waits(write):
    (found,) = diagnosed(write, step(**SIX["starved"]))
    _, busy, in_products, _ = found.answers
    assert not busy.yes
    assert in_products.yes
    assert busy.evidence == "idle for 27.3% of the step (at most 10%)"


@pytest.mark.parametrize(
    ("seconds", "hfu", "then"),
    [
        (SIX["starved"], 0.25, "slow products"),
        (SIX["starved"], 0.8, ""),
        ({"compute": 6.0, "bandwidth": 5.0, "starved": 4.0}, 0.5, "bandwidth"),
        (SIX["bandwidth"], 0.4, ""),
        (SIX["bandwidth"], 0.2, "slow products"),
        (SIX["slow products"], 0.3, ""),
        (SIX["compute"], 0.5, ""),
    ],
)
def test_what_holds_up_a_step_next_is_told(write, seconds, hfu, then):
    (found,) = diagnosed(write, step(hfu=hfu, **seconds))
    assert found.then == then


@pytest.mark.parametrize(("idle", "close"), [(0.096, True), (0.104, True), (0.09, False)])
def test_a_figure_near_its_limit_is_said_to_be(write, idle, close):
    (found,) = diagnosed(write, step(compute=1 - idle, overhead=idle))
    assert found.answers[1].yes is (idle <= 0.1)
    assert ("; close)" in found.answers[1].evidence) is close


def test_mfu_says_of_which_peak(write, capsys):
    row = step(compute=2.0, hfu=0.5) | {"flops_per_second": 495e12}
    assert main(["diagnose", str(write(make_document([row])))]) == 0
    assert "50.0% MFU (of 990 TFLOP/s)" in capsys.readouterr().out


def test_slow_products_are_told(write):
    good, bad = diagnosed(
        write,
        step(compute=8.0, hfu=0.7),
        step("odd_vocabulary", compute=16.0, hfu=0.35),
    )
    assert good.answers[3].yes
    assert not bad.answers[3].yes
    assert (bad.switch, bad.gain) == ("nothing", pytest.approx(2))


def test_no_wall_is_made_of_what_is_not_known(write, capsys):
    """No device file states the peak of the GPU, or of the type."""
    row = step(**SIX["compute"])
    del row["mfu"], row["hfu"]
    path = write(make_document([row]))
    (found,) = diagnose_steps(read(path))
    assert (found.wall, found.then, found.answers[3].yes) == ("compute", "", None)
    assert wall_of(row) == ""
    del row["gpu_idle_fraction"]
    assert diagnosed(write, row)[0].answers[1].yes is None
    for words in (["diagnose"], ["diagnose", "--json"], ["html"]):
        assert main([*words, str(path)]) == 0
        assert "nan" not in capsys.readouterr().out.lower()
    assert "nan%" not in path.with_suffix(".html").read_text()


def test_every_column_and_step_says_of_which_run_it_is(write, capsys):
    rows = [step(compute=2.0), step("tf32", compute=4.0)]
    shared = {"caveats": ["this GPU is shared"]}
    measured = write(make_document(rows, device_kind="cuda", **shared), "measured.json")
    modelled = write(make_document(rows, device_kind="model"), "modelled.json")
    assert main(["diagnose", str(modelled), str(measured)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"what if +hidden +modelled +measured", out)
    assert "!  this GPU is shared" in out
    assert main(["diagnose", "--json", str(measured)]) == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert (first["modelled"], first["reservations"]) == (False, ["this GPU is shared"])


def test_the_switch_that_gains_most_is_named(write):
    base, *_ = diagnosed(
        write,
        step(compute=6.0, bandwidth=4.0),
        step("fused", compute=6.0, bandwidth=3.5),
        step("fused_adamw", compute=6.0, bandwidth=2.0),
        step("graph", compute=1.0),
    )
    assert base.wall == "bandwidth"
    assert (base.switch, base.gain) == ("fused_adamw", pytest.approx(10 / 8))


def test_a_fed_gpu_is_as_fast_as_without_the_wait(write):
    (found,) = diagnosed(write, step("starved", **SIX["starved"]))
    assert (found.switch, found.gain) == ("", pytest.approx(11 / 8))


def test_what_if_compares_steps_of_the_same_width(write):
    rows = [
        step(compute=2.0),
        step("tf32", compute=4.0),
        step("tf32", hidden=256, compute=1.0),
    ]
    result = read(write(make_document(rows)))
    found = gains([result, result])
    assert found["tf32", 2048] == pytest.approx([0.5, 0.5])
    assert all(math.isnan(gain) for gain in found["tf32", 256]), "no baseline of that width"
    assert ("nothing", 2048) not in found


def test_the_command_prints_the_answers_and_the_table(write, capsys):
    path = write(make_document([step(**SIX["starved"]), step("fused", **SIX["compute"])]))
    assert main(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert "no   Is the GPU busy? idle for 27.3% of the step (at most 10%)" in out
    assert "54.5% products, 18.2% other kernels" in out
    assert "wall: starved, 27% of the step: the GPU waits for the tokens of the next step" in out
    assert "without being starved: 1.38x as fast" in out
    assert main(["diagnose", "--json", str(path)]) == 0
    starved, fused = json.loads(capsys.readouterr().out)
    assert starved["wall"] == "starved"
    assert fused["gain"] is None


def test_the_page_has_a_section_for_steps_only(write):
    with_steps = build(read(write(make_document([step(**SIX["starved"])])))).decode()
    assert "What holds up a training step?" in with_steps
    assert "idle for 27.3% of the step" in with_steps
    assert "What holds up a training step?" not in build(read(write(make_document()))).decode()


def test_a_file_without_steps_says_so(write, capsys):
    path = write(make_document([make_row("stream/copy", 1e-3)]))
    assert main(["diagnose", str(path)]) == 0
    assert "no training steps in it" in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["step_seconds", "compute_seconds"])
def test_a_step_without_seconds_is_not_a_step(write, lost):
    """It says nothing of its wall, and its neighbour loses nothing by it."""
    rows = [step(**SIX["compute"]) | {lost: 0}, step("fused", **SIX["starved"])]
    (found,) = diagnosed(write, *rows)
    assert (found.row, found.wall) == (rows[1]["name"], "starved")


@pytest.mark.parametrize("widths", [("wide", "narrow"), (2048, 2048.5)])
def test_only_equal_widths_are_compared(write, widths):
    rows = [step(compute=4.0), step("fused", compute=2.0)]
    for row, width in zip(rows, widths, strict=True):
        row["arguments"]["hidden"] = width
    assert all(math.isnan(found.gain) for found in diagnosed(write, *rows))
    (gain,) = gains([read(write(make_document(rows)))]).values()
    assert math.isnan(gain[0])


def test_rows_that_were_held_back_are_named_before_the_diagnosis(write, capsys):
    throttled = step(**SIX["bandwidth"]) | {"throttled": 1}
    shaky = step("fused_adamw", compute=6.0, bandwidth=2.0) | {"converged": 0}
    path = write(make_document([throttled, shaky, step("tiled", **SIX["bandwidth"])]))
    assert main(["diagnose", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        "!  of the 3 rows used, 2 were held back or did not converge: "
        "training_step/step/with:nothing/hidden:2048 (throttled), "
        "training_step/step/with:fused_adamw/hidden:2048 (not converged)"
    )
    assert main(["diagnose", str(path), "--json"]) == 0
    first, _, last = json.loads(capsys.readouterr().out)
    assert first["switch"] == "fused_adamw"
    assert [*first["doubts"].values()] == [["throttled"], ["not converged"]]
    assert throttled["name"] not in last["doubts"]
    assert b"(not converged)." in build(read(path))


def test_another_devices_rows_that_were_held_back_are_named_with_their_file(write, capsys):
    own = write(make_document([step(compute=1.0)]), "own.json")
    assert main(["diagnose", str(own)]) == 0
    assert "converge" not in capsys.readouterr().out
    other = write(make_document([step(compute=1.0) | {"throttled": 1}]), "other.json")
    assert main(["diagnose", str(own), str(other)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "converge" in line]
    assert line.startswith(f"!  {other}: of the 1 row used, 1 was held back")


def test_many_rows_that_were_held_back_are_counted():
    doubts = {f"a/b/n:{n}": ["throttled"] for n in range(11)}
    line = doubts_line(doubts, 40)
    assert line.startswith("of the 40 rows used, 11 were held back")
    assert line.endswith("a/b/n:7 (throttled) and 3 more")
