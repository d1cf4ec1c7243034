"""The table of grades that the console's code is held against (tests/harness/grades_test.cpp)."""

import json
from pathlib import Path
from typing import Any

import pytest

from .factory import DRAM, make_row, roof
from .judging import one

CASES = json.loads((Path(__file__).parents[1] / "data" / "grades.json").read_text())


def ids(case: dict[str, Any]) -> str:
    return case["why"]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_table_is_what_the_rules_say(load, case):
    headline = {"name": "useful_bytes_per_second", "unit": "B/s", "better": case["better"]}
    more = {"demonstrates": "what to avoid"} if case["demonstrates"] else {}
    if "law_ratio" in case["counters"]:
        more["law"] = DRAM / case["counters"]["law_ratio"]
    row = make_row(
        f"{case['concept']}/kernel",
        case["seconds"],
        headline=headline,
        useful_bytes_per_second=DRAM,
        label=case["label"],
        **case["counters"],
        **more,
    )
    verdict = one(
        load,
        row,
        schema_version=2,
        concepts={case["concept"]: "why?"},
        axes={},
        device_kind="model" if case["kind"] == "model" else "cuda",
        roofs=[
            roof(name, "bandwidth", DRAM, provenance) | {"unit": "B/s"}
            for name, provenance in case["roofs"]
        ],
    )
    assert verdict.grade == case["grade"]
    if "share" in case:
        assert verdict.share == pytest.approx(case["share"])


def test_every_grade_is_in_the_table():
    assert {case["grade"] for case in CASES} == {
        "as expected",
        "low",
        "suspiciously high",
        "low on purpose",
        "not graded",
    }
