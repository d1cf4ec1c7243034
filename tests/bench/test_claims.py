"""The claims of the reports, on the rows that they ask for: each name is one that the program has,
and the model's rows answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from reports.factory import DRAM, make_document, make_roofs

from gpubench_reports.results.reader import read
from gpubench_reports.rules.claims import FAILS, HOLDS, PARTLY, UNTESTED, Case, claims, judge_claims

from .conftest import RowsOfConcept, concepts, run

# What each claim comes to on the model of an H200. A change of the model may change a word: then
# read the figure as somebody who does not believe it, and put the new word here.
WORDS = {
    1: PARTLY,
    2: FAILS,  # 5 µs kernels lose a little more than 40 %, 20 µs ones less than 20
    3: HOLDS,
    4: PARTLY,  # from 1.8 times: the standard way comes out too fast (docs/model-accuracy.md)
    5: HOLDS,  # 71 % of the data sheet's peak; 65.4 % of the peak at the maximum clock, just enough
    6: HOLDS,
    7: HOLDS,
    8: PARTLY,
    9: UNTESTED,
    10: PARTLY,  # without AdamW's traffic, a step gets a little above 50 %
    11: PARTLY,
    12: HOLDS,
    13: HOLDS,
}
LAUNCH = 4.2e-6  # of the h200-sxm's device file: an empty kernel between two events
CASES = [case for claim in claims() for case in claim.cases if case.rows]


def is_there(case: Case) -> bool:
    return case.rows.partition("/")[0] in concepts()


@pytest.fixture(scope="module")
def everything() -> list[str]:
    return run("--suite=full", "--benchmark_list_tests").stdout.split()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.where)
def test_the_rows_of_a_claim_are_the_programs(case: Case, everything: list[str]) -> None:
    names = [name for name in everything if re.fullmatch(case.rows, name)]
    assert bool(names) == is_there(case)
    for pattern in case.with_rows.values():
        for name in names:
            arguments = dict(part.split(":") for part in name.split("/") if ":" in part)
            assert any(re.fullmatch(pattern.format_map(arguments), other) for other in everything)


@pytest.mark.release
def test_the_models_rows_answer(rows_of_concept: RowsOfConcept, tmp_path: Path) -> None:
    asked = {case.rows.partition("/")[0] for case in CASES if is_there(case)}
    rows = [row for concept in sorted(asked) for row in rows_of_concept(concept).values()]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(make_document(rows, device_kind="model")))
    found = {finding.claim.number: finding for finding in judge_claims(read(path))}
    words = {
        claim.number: WORDS[claim.number]
        if any(case.rows and case.judges and is_there(case) for case in claim.cases)
        else UNTESTED
        for claim in claims()
    }
    assert {number: finding.word for number, finding in found.items()} == words
    # Every row that a case asks for is there, and has the figures that it takes.
    tested = [finding for finding in found.values() if finding.word != UNTESTED]
    assert not [finding.untested for finding in tested if finding.untested]
    figures = {n: {one.where: one.figure for one in f.tried} for n, f in found.items()}
    # Four times the bytes behind the same launch; the shorter row waits more for a busy memory.
    [one] = [row for row in rows if row["name"] == "coalescing/strided_read/stride:1"]
    seconds = one["real_time"] * 1e-6
    quarter = seconds / (4 * (seconds - LAUNCH) + LAUNCH)
    assert figures[1]["reads"] == pytest.approx(quarter, rel=0.06)
    assert figures[7]["a launch into a stream"] == pytest.approx(1.88e-6, rel=0.01)
    assert figures[7]["the share that a graph removes"] == pytest.approx(1 - 0.59 / 1.88, rel=0.01)
    assert figures[8]["arrays of 256 Mi bytes in fp32"] == pytest.approx(9 / 3, rel=0.05)
    assert "steps/s claimed" in found[12].tried[0].beside
    # Q, K, V and the output once, 4 N N d multiplied and added: N / 2 FLOP a byte.
    peak = next(roof["value"] for roof in make_roofs() if roof["name"] == "tensor_bf16")
    over = figures[13]["intensity, relative to the ridge point, matrix not written"]
    assert over == pytest.approx(2048 / 2 / (peak / DRAM), rel=0.01)
