#!/usr/bin/env python3
"""Writes the tables of docs/claims.md: what the files in results/modelled say of each claim.

.venv/bin/python scripts/claims.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from gpubench_reports.comparisons.published import rewrite_block
from gpubench_reports.results.reader import read
from gpubench_reports.rules.claims import UNTESTED, Finding, judge_claims

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/claims.md"
FIRST = "h200-sxm"
DEVICES = ("a100-80-sxm", "h100-sxm", FIRST, "b200", "rtx-4090")


def results_table(found: dict[str, list[Finding]]) -> str:
    """One line per claim, from the first device, or from all that test it if this one does not."""
    lines = ["| | claim | our result | verdict, modelled |", "|---|---|---|---|"]
    for at, first in enumerate(found[FIRST]):
        tested = {device: findings[at] for device, findings in found.items()}
        if first.word != UNTESTED:
            tested = {FIRST: first}
        results, verdicts = [], []
        for device, finding in tested.items():
            if finding.word == UNTESTED:
                continue
            of = "" if device == FIRST else f" ({device})"
            results += [f"{one.where}: {one.text}{of}" for one in finding.tried]
            verdicts.append(finding.word + of)
        cells = (str(first.claim.number), first.claim.says, "; ".join(results), ", ".join(verdicts))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def devices_table(found: dict[str, list[Finding]]) -> str:
    """The verdict of each claim on each device."""
    lines = ["| claim | " + " | ".join(DEVICES) + " |", "|---" * (len(DEVICES) + 1) + "|"]
    for number, of_claim in enumerate(zip(*found.values(), strict=True), start=1):
        lines.append(f"| {number} | {' | '.join(finding.word for finding in of_claim)} |")
    return "\n".join(lines) + "\n"


def tables() -> dict[str, str]:
    """The blocks of the page, by name."""
    found = {
        device: judge_claims(read(ROOT / f"results/modelled/{device}.json")) for device in DEVICES
    }
    return {"results": results_table(found), "devices": devices_table(found)}


def main() -> int:
    for name, block in tables().items():
        rewrite_block(PAGE, block, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
