"""What the reports say of a real run: a part of the default suite on an H100 whose power limit
moved the clock (tests/data/measured/h100-sxm.json)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.answers import binds, walls_of
from gpubench_reports.pages.columns import columns_of
from gpubench_reports.pages.goodness import at_low_clock, goodness, roofs_reached
from gpubench_reports.pages.html.answer_cards import answer_cards
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.summary import summary
from gpubench_reports.pages.html.worst_card import worst_card
from gpubench_reports.pages.paragraphs import of_concept
from gpubench_reports.results.baselines import baseline
from gpubench_reports.results.reader import ResultFile, read
from gpubench_reports.rules.diagnosis.diagnose import diagnose
from gpubench_reports.rules.diagnosis.evidence import unsteady
from gpubench_reports.rules.rule_rows import RuleRows, UnusableError
from gpubench_reports.rules.verdicts.health import health
from gpubench_reports.rules.verdicts.judge import judge

from . import planted
from .factory import DRAM, bandwidth_row, make_row
from .html_pages import Elements, one_line

H100 = Path(__file__).resolve().parents[1] / "data/measured/h100-sxm.json"


@pytest.fixture(scope="module")
def h100() -> ResultFile:
    return read(H100)


def kept(path: Path, which: Callable[[dict[str, Any]], bool], **context: Any) -> ResultFile:
    """The run with some of its rows, and another context."""
    document = json.loads(H100.read_text(encoding="utf-8"))
    document["benchmarks"] = list(filter(which, document["benchmarks"]))
    document["context"] |= context
    path.write_text(json.dumps(document), encoding="utf-8")
    return read(path)


@pytest.fixture(scope="module")
def spilling(tmp_path_factory) -> ResultFile:
    """The run with spilled registers that cost four times as much."""
    document = json.loads(H100.read_text(encoding="utf-8"))
    for row in document["benchmarks"]:
        if row.get("local_bytes", 0) > 0:
            for key in row.keys() & {"real_time", "ci_low_seconds", "ci_high_seconds"}:
                row[key] *= 4
    path = tmp_path_factory.mktemp("spilling") / "run.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read(path)


def test_a_clock_that_the_power_limit_moves_is_no_fault(h100):
    found = health(h100)
    assert found.well is True
    said = "; ".join(found.sentences)
    assert "11 rows did not converge (8 of them because the clock changed)" in said
    assert "no row was throttled by heat or the hardware" in said
    assert "the clock fell in 11 rows, down to 1.45 GHz (the power limit in 7 of them)" in said


@pytest.mark.parametrize(
    ("paused", "low", "well"), [(0.3, 0.8, True), (0.0, 0.8, False), (0.0, 0.97, True)]
)
def test_wide_intervals_speak_of_others_only_at_a_steady_clock(load, paused, low, well):
    rows = [
        bandwidth_row(
            f"a/b/n:{n}", 1e9, ci_low_seconds=low, converged=0, paused_seconds=paused, throttled=0
        )
        for n in range(12)
    ]
    found = load(rows)
    assert health(found).well is well
    assert unsteady(found, 0.0) == (
        "" if well else "100% of the rows did not converge, 100% have intervals wider than 5%"
    )


def test_low_rows_blame_the_clock_and_not_a_neighbour(h100):
    why = judge(h100)["compute_peak/wgmma/dtype:fp8"].why
    assert why == (
        "the power limit lowered the SM clock (88.7 % of the stated clock); the row did not "
        "converge, because the clock changed while it ran (interval 15.7 %)"
    )
    steady = judge(h100)["data_pipeline/load/memory:pinned/decode:host/threads:8/depth:8/us:100"]
    assert "something else may have used the device or the host" in steady.why


def test_an_interval_far_narrower_than_the_gap_is_no_reason_for_it(h100):
    found = judge(h100)["compute_peak/wgmma/dtype:bf16"]
    assert found.why == "the power limit lowered the SM clock (92.3 % of the stated clock)"


def test_roofs_that_only_the_clock_keeps_low_are_not_held_against_the_device(h100):
    reached = roofs_reached(h100)
    assert [one.title for one in reached if one.is_low] == ["bf16x2", "fp16x2"]
    assert at_low_clock(reached) == (
        "tensor bf16, tensor fp8, tensor fp16 and 2 more are at 77 to 87 %, because the clock fell "
        "as low as 1.72 GHz."
    )
    found = goodness(h100, judge(h100), health(h100), reached)
    assert found.words == "no: bf16x2 and fp16x2 are at 50 % of expected"
    assert found.more.endswith(at_low_clock(reached))


def test_rows_without_a_prediction_are_bound_by_what_the_model_says(h100, tmp_path):
    bound = {name: verdict.bound for name, verdict in judge(h100).items()}
    assert bound["stream/copy/dtype:fp32/bytes:16/unroll:4"] == "dram"
    assert bound["compute_peak/wgmma/dtype:fp8"] == "tensor"
    other = judge(kept(tmp_path / "hot.json", lambda row: True, mode="hot"))
    assert {verdict.bound for verdict in other.values()} == {""}


def test_what_the_model_says_of_measured_rows_is_called_modelled(h100, capsys):
    verdicts = judge(h100)
    copied = verdicts["stream/copy/dtype:fp32/bytes:16/unroll:4"]
    assert copied.sentence.endswith("bound by dram (bandwidth; modelled)")
    by_label = [v for v in verdicts.values() if v.label and v.bound == v.label]
    assert {verdict.borrowed for verdict in by_label} == {True}
    titles = [column.title for column in columns_of(h100.ok, verdicts, h100.context)]
    assert "bound (* modelled)" in titles  # but for those that their own figures tell of
    bound = next(c for c in columns_of(h100.ok, verdicts, h100.context) if c.key == "bound")
    cells = dict(zip(h100.ok["name"], bound.texts, strict=True))
    assert cells[copied.name] == "dram*"
    known = [verdict for verdict in verdicts.values() if verdict.bound]
    borrowed = [verdict for verdict in known if verdict.borrowed]
    assert {cells[v.name].endswith("*") for v in known if not v.borrowed} == {False}
    walls = binds(walls_of(h100, verdicts), verdicts)
    count = f"modelled for {len(borrowed)} rows of {len(known)}"
    assert walls.endswith(f" ({count})")
    page = answer_cards(gather(h100))
    assert f"M{count[1:]}: the file has no predictions" in page


def test_a_column_of_which_all_is_modelled_says_so_once(h100):
    verdicts = judge(h100)
    rows = h100.ok[h100.ok["name"].str.startswith("stream/")]
    (bound,) = (c for c in columns_of(rows, verdicts, h100.context) if c.key == "bound")
    assert (bound.title, bound.texts[0]) == ("bound (modelled)", "dram")


def test_what_a_file_says_itself_is_not_called_modelled():
    own = baseline("h100-sxm")
    verdicts = judge(own)
    assert not any("modelled)" in verdict.sentence for verdict in verdicts.values())
    assert "bound" in [column.title for column in columns_of(own.ok, verdicts, own.context)]
    assert "modelled" not in binds(walls_of(own, verdicts), verdicts)


def test_a_fault_of_the_code_is_told_and_the_device_stays_healthy(spilling):
    found = health(spilling)
    assert found.fault is not None
    assert (found.fault.fault, found.fault.of_device, found.well) == ("spills", False, True)
    assert "the model may underestimate what spills cost" in found.fault.look


def test_a_part_that_limits_no_row_is_not_at_fault(tmp_path):
    """Two peaks at half of what is expected look like a DRAM 45 times as slow, where no row shows
    that it is not."""
    found = kept(
        tmp_path / "roofs.json",
        lambda row: (
            row["concept"] == "compute_peak"
            or (row["concept"] == "memory_hierarchy" and "8589934592" not in row["name"])
        ),
    )
    assert [one.fault for one in diagnose(found) if one.of_device] == []


def test_a_slow_host_leaves_the_device_healthy(write):
    found = health(read(write(planted.document(0, "slow host"))))
    assert found.fault is not None
    assert (found.fault.of_device, found.well) == (False, True)


def test_only_rows_that_the_fault_makes_longer_are_explained_by_it(spilling):
    facts = gather(spilling)
    slow = {row["name"] for row in spilling.timed if row["local_bytes"] > 0}
    assert facts.health.fault.rows == slow
    assert "Probably what is said above" not in one_line(Elements(worst_card(facts)).text)


def test_the_first_lines_say_it(spilling, capsys):
    assert main(["table", str(spilling.path)]) == 0
    resumed, healthy, fault, _, also, good = capsys.readouterr().out.splitlines()[1:7]
    assert "resumed by another process at 2026-11-27 14:04" in resumed
    assert healthy.strip() == "device healthy"
    assert fault.startswith("probably: kernels that spill registers")
    assert also.startswith("also:     11 rows did not converge")
    assert good.startswith("good?     no: bf16x2 and fp16x2 are at 50 % of expected.")


def test_a_row_that_nearly_converged_is_used(h100, load):
    rows = RuleRows(h100)
    mma = "compute_peak/mma/dtype:bf16"  # an interval of 3.1 %
    assert rows.usable(mma)["converged"] == 0
    padded = "tile_alignment/vocabulary/dtype:bf16/pass:forward/n:50304"
    with pytest.raises(UnusableError, match="converge: its interval is 34 % of its time"):
        rows.usable(padded)
    few = RuleRows(load([make_row("a/b", converged=0, samples=5)]))
    with pytest.raises(UnusableError, match="a/b did not converge: it has 5 samples"):
        few.usable("a/b")


def test_notes_that_differ_in_their_numbers_alone_are_one(capsys):
    assert main(["table", str(H100)]) == 0
    lines = capsys.readouterr().out.splitlines()
    notes = [line.split(maxsplit=1)[1] for line in lines[lines.index("notes") + 1 :] if line]
    paused = [note for note in notes if note.startswith("paused")]
    assert paused == [
        "paused 0.14-1.6 s in all, because the clock had dropped; it did not recover: "
        "measured at 1.45-1.99 GHz, not at 1.85-1.98"
    ]


def test_a_paragraph_counts_rows_of_which_nothing_says_what_binds_them(load):
    rows = [make_row("a/b/n:1", label="dram"), *(make_row(f"a/b/n:{n}", label="") for n in (2, 3))]
    found = load(rows)
    said = of_concept(found.records, judge(found))
    assert "Bound by nothing known (2 rows) and dram (1 row)." in said


def test_a_paragraph_names_two_rows_and_counts_the_others(load):
    rows = [bandwidth_row(f"a/b/n:{n}", DRAM / 3, DRAM) for n in (1, 2, 3)]
    found = load(rows)
    said = of_concept(found.records, judge(found))
    assert "b/n:2 is low (33.3 % of the predicted limit), and 1 more row." in said


def test_a_run_without_predictions_is_validated_against_the_run_that_ships(tmp_path, capsys):
    assert main(["validate", str(H100), f"--out={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "\n48 rows compared, 0 measured without a prediction\n" in printed
    assert "of the 48 rows used, 16 were held back or did not converge: " in printed


def test_a_copy_passes_no_gate(tmp_path, capsys):
    copy = tmp_path / "copy.json"
    copy.write_bytes(H100.read_bytes())
    assert main(["compare", str(H100), str(copy), "--fail-on=5%"]) == 2
    assert "is a copy of A: with --fail-on, it would always pass" in capsys.readouterr().err


def test_a_wall_states_the_middle_of_its_roofs_only_if_most_rows_have_one(load):
    rows = [make_row(f"a/b/n:{n}", roof_fraction=0.3) for n in (1, 2)]
    without = [make_row(f"a/b/n:{n}") for n in (3, 4, 5)]
    for some, middle in (([*rows, *without[:2]], 0.3), ([*rows, *without], math.nan)):
        found = load(some)
        (wall,) = walls_of(found, judge(found))
        assert wall.of_roof == pytest.approx(middle, nan_ok=True)


@pytest.mark.parametrize(("hz", "told"), [(1.995e9, False), (2.1e9, True)])
def test_a_step_of_the_clock_does_not_explain_a_row_far_above_its_law(load, hz, told):
    row = bandwidth_row("a/b", DRAM * 1.3, DRAM, sm_clock_hz=hz)
    (verdict,) = judge(load([row])).values()
    assert ("the clock was higher than the roofs assume" in verdict.why) is told


def test_the_page_tells_which_gpu_it_was(h100, tmp_path):
    text = one_line(Elements(summary(gather(h100))).text)
    assert "VBIOS96.00.DA.00.0CPower limit700 WPCIegeneration 5, x16" in text
    state = h100.context.device_state | {"uuid": "GPU-1", "power_limit_w": 350.0}
    other = kept(tmp_path / "other.json", lambda row: True, device_state=state)
    text = one_line(Elements(summary(gather(other))).text)
    assert "UUIDGPU-1" in text
    assert "Power limit350 W (700 W by default)" in text
