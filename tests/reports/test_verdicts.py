"""Verdicts: the wall, the distance, the grade, the causes in order, and the rules as data."""

import json
import re
from pathlib import Path

import pytest

from gpubench_reports.comparisons.ranges import Range, ranges_for
from gpubench_reports.results.reader import read
from gpubench_reports.rules.model_error import class_of, is_known, sigma_of
from gpubench_reports.rules.verdicts.health import health
from gpubench_reports.rules.verdicts.judge import judge
from gpubench_reports.rules.verdicts.rulebook import is_about, rules
from gpubench_reports.rules.verdicts.verdict import EXPECTED, HIGH, LOW, MEANT, UNGRADED, worst

from .factory import DRAM, bandwidth_row, compute_row, make_document, make_row, roof
from .judging import one


@pytest.mark.parametrize(
    ("label", "wall"),
    [
        ("dram", "bandwidth"),
        ("shared", "bandwidth"),
        ("fp16x2", "compute"),
        ("tensor_bf16", "compute"),
        ("issue", "compute"),
        ("launch", "communication / overhead"),
        ("network", "communication / overhead"),
        ("", ""),
        ("moon", ""),
    ],
)
def test_the_wall_follows_the_label(load, label, wall):
    assert one(load, make_row("a/b", label=label)).wall == wall


@pytest.mark.parametrize(
    ("ratio", "tolerance", "grade"),
    [
        (1.0, 0.1, EXPECTED),
        (0.91, 0.1, EXPECTED),
        (0.89, 0.1, LOW),
        (1.09, 0.1, EXPECTED),
        (1.11, 0.1, HIGH),
        (0.75, 0.3, EXPECTED),
    ],
)
def test_a_row_may_be_as_far_from_its_law_as_it_says(load, ratio, tolerance, grade):
    row = bandwidth_row("a/b", DRAM * ratio, DRAM, law_tolerance=tolerance)
    found = one(load, row)
    assert found.grade == grade
    assert found.share == pytest.approx(ratio)
    assert (found.severity > 1) == (grade != EXPECTED)


@pytest.mark.parametrize("own", [False, True])
def test_a_law_by_the_data_sheet_alone_makes_no_row_low(load, own):
    sheet = roof("dram", "bandwidth", 4.8e12, "data_sheet")
    roofs = [roof("dram", "bandwidth", DRAM, "measured"), sheet] if own else [sheet]
    row = bandwidth_row("a/b", 4.8e12 * 0.8, 4.8e12)
    found = one(load, row, roofs=roofs)
    assert found.grade == (LOW if own else UNGRADED)
    assert ("the device file's dram" in found.no_grade) == (not own)
    # What others recorded, or the model predicts, is no data sheet's promise.
    slow = make_row("stream/b", 2e-3, model_seconds=1e-3)
    assert one(load, slow, roofs=[sheet]).grade == LOW
    reached = bandwidth_row("a/b", 4.8e12, 4.8e12)
    assert one(load, reached, roofs=[sheet]).grade == EXPECTED


def test_a_law_that_is_a_time_is_better_below(load):
    slow = make_row("a/b", 2e-3, law=1e-3, law_ratio=2.0)
    assert one(load, slow).grade == LOW
    assert one(load, slow).share == pytest.approx(0.5)
    chase = make_row("a/b", 2e-3, latency_seconds=2e-7, law=1e-7, law_ratio=2.0)
    assert one(load, chase).grade == LOW
    rate = make_row("a/b", 2e-3, law=1e9, law_ratio=0.5)  # of a rate that the row does not state
    assert one(load, rate).share == pytest.approx(0.5)


def test_without_a_law_the_prediction_counts_then_the_roof(load):
    slow = make_row("stream/b", 2e-3, model_seconds=1e-3, roof_fraction=0.9)
    assert one(load, slow).yardstick == "the model's prediction"
    assert one(load, slow).grade == LOW
    only_roof = make_row("a/b", 2e-3, roof_fraction=0.9)
    assert one(load, only_roof).yardstick == "its dram roof"
    assert one(load, only_roof).grade == EXPECTED
    # On the model the prediction is the result: it proves nothing.
    assert one(load, slow, device_kind="model").yardstick == "its dram roof"
    # Where the model predicts a concept badly, as much is no finding.
    unsure = make_row("host_sync/b", 1.7e-3, model_seconds=1e-3, roof_fraction=0.9)
    assert one(load, unsure).grade == EXPECTED
    assert one(load, make_row("a/b")).grade == UNGRADED


def test_what_was_recorded_comes_before_the_law(load):
    row = bandwidth_row("a/b", 3.0e12, 3.0e12)
    recorded = [Range("a/b", "useful_bytes_per_second", 4.0e12, 4.2e12, "two runs")]
    found = one(load, row, recorded)
    assert found.grade == LOW
    assert found.yardstick == "what was recorded for it (two runs)"
    recorded = [Range("a/b", "seconds", 1e-3, 1.1e-3, "x")]
    assert one(load, make_row("a/b", 1.05e-3), recorded).grade == EXPECTED
    assert one(load, make_row("a/b", 2e-3), recorded).grade == LOW
    assert one(load, make_row("a/b", 0.5e-3), recorded).grade == HIGH


def test_only_causes_that_the_row_shows_are_told(load):
    row = bandwidth_row(
        "a/b", DRAM / 2, DRAM, throttled=1, converged=1, occupancy=0.25, temperature_c=40
    )
    found = one(load, row)
    assert [cause.says for cause in found.causes] == [
        "the clock was throttled while the row ran (power or temperature)",
        "too few warps are resident to cover the latency",
    ]
    said = " ".join(cause.says for cause in found.causes)
    assert "hot" not in said
    assert "converge" not in said
    assert found.why.startswith("the clock was throttled")
    assert "throttled 1" in found.why


def test_a_demonstration_is_low_on_purpose_and_never_the_worst(load):
    shown = bandwidth_row("a/b/n:1", DRAM / 5, DRAM, demonstrates="rows that begin anywhere")
    slow = bandwidth_row("c/d/n:1", DRAM / 2, DRAM)
    found = judge(load([shown, slow]))
    assert [v.grade for v in found.values()] == [MEANT, LOW]
    assert [v.name for v in worst(found.values(), 3)] == ["c/d/n:1"]


def test_rows_that_measure_a_roof_come_first_then_what_loses_most(load):
    rows = [
        bandwidth_row("a/b/n:1", DRAM / 10, DRAM),
        bandwidth_row("stream/copy/n:1", DRAM / 1.6, DRAM, measures="dram"),
        bandwidth_row("c/d/n:1", DRAM / 2, DRAM, law_tolerance=0.45),
        bandwidth_row("e/f/n:1", DRAM / 3, DRAM, law_tolerance=0.02),
    ]
    found = [v.name for v in worst(judge(load(rows)).values(), 4)]
    assert found == ["stream/copy/n:1", "a/b/n:1", "e/f/n:1", "c/d/n:1"]


def test_a_row_above_its_roof_is_suspicious_and_says_why(load):
    row = bandwidth_row("a/b/input:zeros", DRAM * 1.5, DRAM)
    found = one(load, row)
    assert found.grade == HIGH
    assert [re.split("[:,]", cause.says)[0] for cause in found.causes] == [
        "the data were zeros",
        "more useful bytes per second than DRAM can deliver",
    ]


def test_advice_depends_on_what_binds_and_on_what_is_wasted(load):
    wasted = bandwidth_row(
        "a/b", DRAM, DRAM, sectors_per_request=32, moved_bytes_per_second=8 * DRAM
    )
    assert one(load, wasted).change.startswith("use every byte that is fetched")
    assert one(load, bandwidth_row("a/b", DRAM, DRAM)).change.startswith("move fewer bytes")
    few = bandwidth_row("a/b", DRAM / 2, DRAM, occupancy=0.25)
    starved = one(load, few)
    assert starved.change.startswith("more bytes in flight")
    assert "too few warps are resident to cover the latency" in starved.why
    assert "occupancy" not in starved.no_help
    full = one(load, few | {"roof_fraction": 0.95})
    assert full.change.startswith("move fewer bytes")
    compute = one(load, compute_row("a/b", 100.0, 5e13))
    assert "bandwidth" in compute.no_help


def test_the_worst_row_is_the_one_farthest_beyond_its_edge(load):
    rows = [
        bandwidth_row("a/b/n:1", DRAM * 0.5, DRAM, law_tolerance=0.45),  # just beyond
        bandwidth_row("a/b/n:2", DRAM * 0.7, DRAM, law_tolerance=0.05),  # far beyond
        bandwidth_row("a/b/n:3", DRAM, DRAM),
    ]
    (found,) = worst(judge(load(rows)).values())
    assert found.name == "a/b/n:2"
    level = [
        bandwidth_row("a/b/n:1", DRAM * 1.05, DRAM),
        bandwidth_row("a/b/n:2", DRAM * 0.99, DRAM),
    ]
    (found,) = worst(judge(load(level)).values())
    assert found.name == "a/b/n:2"
    assert worst(judge(load([make_row("a/b")])).values()) == []


def test_the_three_worst_rows_are_of_three_concepts(load):
    rows = [
        bandwidth_row(f"{concept}/b/n:{n}", DRAM * share, DRAM)
        for n, (concept, share) in enumerate(
            [("a", 0.3), ("a", 0.4), ("b", 0.6), ("c", 1.05), ("d", 0.97), ("e", 0.99)]
        )
    ]
    found = worst(judge(load(rows)).values(), 3)
    assert [v.name for v in found] == ["a/b/n:0", "b/b/n:2", "d/b/n:4"]
    assert [v.grade for v in found] == [LOW, LOW, EXPECTED]


@pytest.mark.parametrize(
    ("row", "context", "why"),
    [
        (make_row("a/b", label="latency"), {}, "no prediction, latency has no roof"),
        (
            make_row("a/b", label="l2"),
            {"device_kind": "model"},
            "the prediction is the result itself, it is not known what share of a l2 roof it "
            "should reach",
        ),
        (make_row("a/b", label=""), {}, "no prediction, it is not known what binds it"),
    ],
)
def test_a_row_without_a_grade_says_why(load, row, context, why):
    found = one(load, row, **context)
    assert found.grade == UNGRADED
    assert found.no_grade == f"no law at this size or shape, nothing recorded, {why}"
    assert found.no_grade in found.sentence
    graded = one(load, row | {"roof_fraction": 0.9}, **context)
    assert graded.no_grade == ""


def test_health_is_claimed_only_where_something_was_observed(load):
    assert health(load([make_row("a/b")])).well is None
    good = [make_row("a/b", throttled=0, temperature_c=60, sm_clock_hz=1.98e9, power_w=500)]
    found = health(load(good))
    assert found.well is True
    assert "no row was throttled" in found.sentences
    hot = [make_row("a/b", throttled=0, temperature_c=91)]
    assert health(load(hot)).well is False
    assert health(load(good, device_kind="model")).well is None
    failed = [make_row("a/c") | {"error_occurred": True, "error_message": "x"}]
    assert health(load([*good, *failed])).well is False


def test_every_rule_can_be_met():
    """A rule on a figure that no row has, or for a label that no wall has, would never speak."""
    book = rules()
    patterns = {label for wall in book["walls"] for label in wall["labels"]}
    for rule in (*book["patterns"], *book["causes"], *book["advice"]):
        for label in rule.get("labels", []):
            plain = label.rstrip("*")
            assert any(
                p.rstrip("*").startswith(plain) or plain.startswith(p.rstrip("*")) for p in patterns
            ), label
        assert rule.get("says") or rule.get("change")
    # Whatever binds a row, there is advice for it.
    for label in (
        "dram",
        "l2",
        "l1",
        "shared",
        "fp32",
        "fp64",
        "fp16x2",
        "tensor_fp16",
        "issue",
        "latency",
        "launch",
        "link",
        "network",
        "host",
    ):
        row = {"label": label, "name": "a/b"}
        assert any(is_about(row, rule) for rule in book["advice"]), label


def test_ranges_are_of_the_same_device_and_mode_and_measured(write, tmp_path):
    places = tmp_path / "results"
    (places / "local").mkdir(parents=True)
    rate = "useful_bytes_per_second"

    def put(name, value, **context):
        document = make_document([bandwidth_row("a/b", value)], **context)
        (places / name).write_text(json.dumps(document))

    put("same.json", 4.0e12)
    put("other.json", 5.0e12, device="b200")
    put("hot.json", 6.0e12, mode="hot")
    put("model.json", 7.0e12, device_kind="model")
    put("local/mine.json", 8.0e12)
    for beside in ("same.trace", "same.explain", "same.csv-explain"):
        put(f"{beside}.json", 8.0e12)
    (places / "points.json").write_text(
        json.dumps(
            {
                "schema": 1,
                "device": "h200-sxm",
                "source": "a paper",
                "url": "u",
                "measured_on": "m",
                "unlike": "u",
                "points": [
                    point := {
                        "what": "w",
                        "value": 4.1e12,
                        "row": "a/b",
                        "quantity": rate,
                        "fitted": False,
                    },
                    # A figure of more than this row.
                    {**point, "value": 9e12, "besides": [{"row": "a/c", "times": 1}]},
                ],
            }
        )
    )
    run = read(write(make_document([bandwidth_row("a/b", 4.2e12)])))
    found = ranges_for(run, [places])
    assert [(entry.low, entry.high, entry.source) for entry in found] == [
        (4.0e12, 4.0e12, "1 run"),
        (4.1e12, 4.1e12, "a paper"),
    ]
    hot = read(write(make_document([bandwidth_row("a/b", 6.1e12)], mode="hot")))
    assert [entry.low for entry in ranges_for(hot, [places])] == [6.0e12]
    modelled = read(write(make_document([bandwidth_row("a/b", 4.2e12)], device_kind="model")))
    assert [entry.source for entry in ranges_for(modelled, [places])] == ["a paper"]


@pytest.mark.parametrize("flag", [{"converged": 0.0}, {"throttled": 1.0}])
def test_a_row_that_was_held_back_is_no_ones_range(write, tmp_path, flag):
    sure = bandwidth_row("a/b", 4.0e12) | {"converged": 1.0}
    unsure = bandwidth_row("a/c", 4.0e12) | flag
    (tmp_path / "recorded.json").write_text(json.dumps(make_document([sure, unsure])))
    run = read(write(make_document([bandwidth_row("a/b", 1e12), bandwidth_row("a/c", 1e12)])))
    assert [entry.row for entry in ranges_for(run, [tmp_path / "recorded.json"])] == ["a/b"]


def test_a_copy_of_a_run_is_no_range_for_it(write, tmp_path):
    run = read(write(make_document([bandwidth_row("a/b", 1e12)])))
    places = tmp_path / "recorded"
    places.mkdir()
    (places / "copy.json").write_bytes(run.path.read_bytes())
    assert ranges_for(run, [places]) == []
    again = make_document([bandwidth_row("a/b", 1.001e12)])
    (places / "again.json").write_text(json.dumps(again))
    assert [entry.source for entry in ranges_for(run, [places])] == ["1 run"]


@pytest.mark.parametrize("odd", ["a lot", 10**400, [1], None, True])
def test_a_rows_own_figures_may_be_anything(load, odd):
    row = make_row(
        "a/b/size:64",
        label="tensor",
        roof_fraction=0.2,
        penalty=2.4,
        pad_cost=odd,
        tile=odd,
        lost_fraction=odd if odd != 10**400 else "1e400",
        fit_half_bandwidth_bytes=odd,
    )
    assert one(load, row).bound


def test_every_concept_has_an_error_of_the_model():
    concepts = [path.stem for path in (Path(__file__).parents[2] / "bench").glob("*.cu")]
    assert [concept for concept in concepts if not is_known(concept)] == []


def test_the_kernels_of_a_concept_may_be_a_class_of_their_own():
    assert class_of("attention", "tiled") == "attention/tiled"
    assert class_of("stream", "read") == "stream"
    assert sigma_of("attention", "tiled") != sigma_of("attention", "standard")
    assert sigma_of("no such concept") == sigma_of("nor", "this")
