"""The verdicts of docs/claims.md on several devices are those of their modelled files."""

from __future__ import annotations

from pathlib import Path

from gpubench_reports.results.reader import read
from gpubench_reports.rules.claims import judge_claims

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "claims.md"
DEVICES = ("a100-80-sxm", "h100-sxm", "h200-sxm", "b200", "rtx-4090")


def test_the_page_has_the_verdict_of_each_claim_on_each_device() -> None:
    words = [
        [finding.word for finding in judge_claims(read(ROOT / f"results/modelled/{device}.json"))]
        for device in DEVICES
    ]
    lines = [
        f"| {number} | {' | '.join(found)} |"
        for number, found in enumerate(zip(*words, strict=True), start=1)
    ]
    head = ["| claim | " + " | ".join(DEVICES) + " |", "|---" * (len(DEVICES) + 1) + "|"]
    assert len(lines) == 13
    assert "\n".join([*head, *lines]) in PAGE.read_text(), "\n".join([*head, *lines])
