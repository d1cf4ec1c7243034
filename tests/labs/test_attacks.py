"""No attack gets a point that its author has not worked for, or touches anything outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from checker import policy
from checker.grade import grade
from checker.report import Submission
from checker.sandbox import Limits

from .attacks import Attack, attacks
from .conftest import BUILD, LABS, ROOT
from .wrong import once

DEVICE = "model:h200-sxm"
# One for each line of defence; a compiler and a program take their time.
EVERYDAY = {"return_address", "uncounted_accesses", "host_stack", "strong_function_past_the_text"}


def is_everyday(attack: Attack) -> bool:
    return attack.name in EVERYDAY or (attack.where == "policy" and not attack.past)


def everything_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(a, id=a.name, marks=() if is_everyday(a) else pytest.mark.release)
        for a in attacks()
    ],
)
def test_an_attack_gets_no_point(
    attack: Attack, prepared: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "class" / "mallory"
    attack.submit(folder)
    if "source" in attack.past:
        monkeypatch.setattr(policy, "source_faults", lambda _, path: (path.read_text(), []))
    before = everything_in(tmp_path), everything_in(attack.lab.folder)
    report = grade(
        attack.lab,
        Submission(folder / "solution.cuh", folder / "answers.toml"),
        BUILD,
        device=DEVICE,
        seed=7,
        limits=Limits(seconds=60),
    )
    assert (everything_in(tmp_path), everything_in(attack.lab.folder)) == before
    part = report.part("correctness" if attack.where in ("policy", "correct") else attack.where)
    said = "\n".join(part.lines)
    assert part.points < part.of, said
    assert attack.words in said
    if attack.where in ("policy", "correct"):
        assert report.points == report.part("predictions").points, said
    if attack.where == "policy":
        assert "not compiled: " in said or "not run: " in said or "does not compile" in said
    else:
        assert "not compiled: " not in said
        assert "not run: " not in said
    if attack.where in ("counters", "time"):  # it ran, and what it computed is right
        right = report.part("correctness")
        assert right.points == right.of, right.lines


FINDS_WHAT_WAS_LEFT = """
  switch (n) {
    volatile unsigned kept[2048];
    default:
      if (kept[1000] == 0x600dcafe) return;
      kept[1000] = 0x600dcafe;
  }
  goto behind;
  {
    volatile unsigned others[2];
  behind:
    if (others[1] == 0x600dcafe) return;
    others[1] = 0x600dcafe;
  }
"""


def test_no_block_finds_what_an_earlier_one_left_on_the_stack(
    prepared: object, tmp_path: Path
) -> None:
    """Whoever finds something does nothing, and is wrong."""
    lab = next(lab for lab in LABS if lab.number == "05")
    head = "block_sums(const float* in, float* sums, unsigned n) {"
    text = once(lab.reference.read_text(), head, head + FINDS_WHAT_WAS_LEFT, "05")
    (tmp_path / "solution.cuh").write_text(text)
    answers = lab.reference.with_name("answers.toml")
    submission = Submission(tmp_path / "solution.cuh", answers)
    report = grade(lab, submission, BUILD, device=DEVICE, seed=7)
    part = report.part("correctness")
    assert part.is_right, "\n".join(part.lines)


def test_there_are_attacks_on_every_line_of_defence() -> None:
    found = attacks()
    assert len(found) >= 25
    assert {"policy", "correct"} <= {attack.where for attack in found}
    assert {name for name in EVERYDAY if name in {attack.name for attack in found}} == EVERYDAY
    assert (ROOT / "SECURITY.md").exists()
