"""The result file's contract: docs/result-file.schema.json, and readers that guess nothing."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpubench_reports.charts import levels_chart
from gpubench_reports.charts.concept import chart as concept_chart
from gpubench_reports.common.errors import ReportError
from gpubench_reports.pages.csv_report import to_csv
from gpubench_reports.pages.markdown_report import to_markdown
from gpubench_reports.results.importers import PROGRAMS, convert
from gpubench_reports.results.reader import read
from gpubench_reports.rules.verdicts.judge import judge

from .factory import make_context, make_row
from .imports import FILES, SAMPLES

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/result-file.schema.json").read_text())
DATA = ROOT / "tests/data"
OLDER, NEWER = DATA / "results/version-1.json", DATA / "results/version-2.json"


def problems(document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def stated_row(name: str, headline: dict[str, Any], **more: Any) -> dict[str, Any]:
    return make_row(name) | {"headline": headline} | more


def document(*rows: dict[str, Any], **context: Any) -> dict[str, Any]:
    made = make_context(schema_version=2, concepts={"a": "what does a cost?"}, axes={})
    for roof in made["roofs"]:
        roof["unit"] = "B/s" if roof["kind"] == "bandwidth" else "FLOP/s"
    return {"context": made | context, "benchmarks": list(rows)}


RATE = {"name": "useful_bytes_per_second", "unit": "B/s", "better": "higher"}
ROW = stated_row("a/b/n:1", RATE, useful_bytes_per_second=1e9)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("made", [document(ROW), json.loads(NEWER.read_text())])
def test_files_of_version_2_meet_it(made):
    assert problems(made) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_imported_files_meet_it(program):
    assert problems(convert(SAMPLES / FILES[program], program)) == []


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}


WRONG = [
    (document(without("headline")), "'headline' is missing"),
    (document(ROW | {"headline": RATE | {"better": "more"}}), "must be 'higher' or 'lower'"),
    (document(ROW | {"headline": {"name": "seconds", "better": "lower"}}), "'unit' is missing"),
    (document(ROW | {"headline": "seconds"}), "'headline' must be an object"),
    (document(ROW | {"notes": "one; two"}), "'notes' must be a list of texts"),
    (document(ROW | {"bytes": {"dram": "many"}}), "'bytes.dram' must be a number"),
    (document(ROW | {"axes": {"n": 8}}), "'n' must be text"),
    (document(ROW, axes={"n": 8}), "'n' must be text"),
    (document(ROW, concepts=["a"]), "'concepts' must be an object"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_what_breaks_the_contract_is_one_line(write, wrong, said):
    assert problems(wrong)
    with pytest.raises(ReportError) as error:
        read(write(wrong))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        document(ROW | {"skipped": True, "skip_reason": "no GPU"}),
        document(ROW | {"bytes": {"l3": 1.0}}),
        document(ROW | {"flops_per_second": 1e9}),
        document(ROW | {"roof_fraction": 0.5}),
        document(ROW | {"law": 1e9}),
        document(ROW | {"run_type": "aggregate"}),
        document(without("concept")),
        document(ROW, schema_version=1),
        document(ROW) | {"extra": 1},
        json.loads(OLDER.read_text()),
    ],
)
def test_the_schema_refuses_what_no_run_writes(wrong):
    assert problems(wrong)


def test_a_roof_without_its_unit_is_named(write):
    made = document(ROW)
    del made["context"]["roofs"][0]["unit"]
    with pytest.raises(ReportError, match="roof 'dram': 'unit' is missing"):
        read(write(made))


def test_a_row_is_judged_by_what_it_says(write):
    """Not by the first figure that it has, nor by the one that its law would fit."""
    time = {"name": "seconds", "unit": "s", "better": "lower"}
    own = {"name": "pages_per_second", "unit": "/s", "better": "higher"}
    apart = {"name": "gap", "unit": "K", "better": "lower", "value": 4.0}
    rates = {"useful_bytes_per_second": 1e9, "flops_per_second": 1e9, "arithmetic_unit": "FLOP/s"}
    made = document(
        stated_row("a/bytes", RATE, **rates, law=2e9, law_ratio=0.5),
        stated_row("a/time", time, **rates),
        stated_row("a/pages", own, pages_per_second=8.0, model_seconds=2e-3),
        stated_row("a/gap", apart, model_seconds=2e-3),
    )
    assert problems(made) == []
    rows = read(write(made)).ok.set_index("name")
    assert list(rows["headline"]) == [RATE["name"], "seconds", "pages_per_second", "gap"]
    assert list(rows["value"]) == [1e9, 1e-3, 8.0, 4.0]
    assert list(rows["unit"]) == ["B/s", "s", "/s", "K"]
    assert list(rows["predicted"])[2:] == [4.0, 8.0]
    assert rows.loc["a/bytes", "law_value"] == 2e9
    assert math.isnan(rows.loc["a/time", "law_value"])


def test_axes_have_the_units_that_the_file_states(write):
    rows = [
        stated_row(f"a/b/stride:{n}/n:{n}", RATE, useful_bytes_per_second=1e9 * n) for n in (1, 2)
    ]
    rows += [rows[1] | {"name": "a/c/n:1", "run_name": "a/c/n:1", "arguments": {"n": 1}}]
    rows[2] = rows[2] | {"kernel": "c", "axes": {"n": "pages"}}
    result = read(write(document(*rows, axes={"n": "rows of a table"})))
    units = result.rows.set_index("name")["axes"]
    assert units["a/b/stride:1/n:1"] == {"n": "rows of a table"}  # of stride nothing is said
    assert units["a/c/n:1"] == {"n": "pages"}
    figure = concept_chart.build("a", result.rows[result.rows["kernel"] == "b"], result.context)
    assert figure.axes[0].get_xlabel() == "stride"


def test_notes_are_not_cut(write, capsys):
    code = "ptxas merges loads at 'for (int i = 0; i < n; ++i) sum += x[i];'"
    result = read(write(document(ROW | {"notes": [code, "not gated: it blocks"]})))
    assert result.ok["notes"].iloc[0] == [code, "not gated: it blocks"]


def test_levels_take_the_bytes_that_rows_state(write):
    rate = {"name": "flops_per_second", "unit": "FLOP/s", "better": "higher"}
    rows = [
        stated_row(
            f"a/b/n:{n}",
            rate,
            flops_per_second=1e12,
            arithmetic_unit="FLOP/s",
            bytes={"dram": 1e9 / n, "l2": 2e9},
        )
        for n in (1, 2)
    ]
    points = levels_chart.points_of(read(write(document(*rows))).rows)
    assert [point.intensity for point in points] == [
        {"dram": pytest.approx(n), "l2": pytest.approx(0.5)} for n in (1, 2)
    ]


def test_an_older_file_says_what_it_can():
    """The same run, once as version 1 and once as version 2, reads the same."""
    older, newer = read(OLDER), read(NEWER)
    for old, new in zip(older.rows.to_dict("records"), newer.rows.to_dict("records"), strict=True):
        for key in ("headline", "unit", "better", "notes", "axes", "bytes", "arithmetic_unit"):
            if key != "arithmetic_unit" or new["flops_per_second"] > 0:
                assert old[key] == new[key], (old["name"], key)
        for key in ("value", "law_value", "low", "high", "predicted"):
            assert old[key] == pytest.approx(new[key], nan_ok=True), (old["name"], key)
    assert [roof.unit for roof in older.context.roofs] == [r.unit for r in newer.context.roofs]
    said = [to_csv(result, judge(result)) for result in (older, newer)]
    assert said[0] == said[1]
    told = [to_markdown(result, judge(result), []) for result in (older, newer)]
    assert told[0].replace("version-1", "version-2") == told[1]


def test_what_an_older_file_does_not_say_is_absent(write):
    older = copy.deepcopy(json.loads(OLDER.read_text()))
    older["benchmarks"] = [make_row("x/y/wibble:1", terms={"l2": 1e-3}, model_seconds=5e-3)]
    (row,) = read(write(older)).rows.to_dict("records")
    assert (row["axes"], row["notes"], row["bytes"]) == ({}, [], {})
    assert read(write(older)).context.concepts == {}
