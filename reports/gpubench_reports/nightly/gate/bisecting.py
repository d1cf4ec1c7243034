"""Finds the commit that made it slower: builds commits aside, and asks the gate about each."""

import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.nightly.gate.gate import Gate, GateResult
from gpubench_reports.nightly.nights.running import CannotJudgeError, call_group, last_line

BUILD = "cmake --preset release && cmake --build --preset release --target gpubench"


def bisect(
    gate: Gate,
    repository: Path,
    good: str,
    bad: str,
    build: str | None,
    built: Path,
    say: Callable[[str], None],
) -> int:
    """Prints the first bad commit on the first-parent way from `good` to `bad`; returns 1. Commits
    that do not have `good` in them are left out.

    Worktrees and builds lie in a temporary folder, outside the checkout. A commit that does not
    build or run, or whose slow rows cannot be judged, is passed over. Raises ReportError where
    there is nothing to be found.
    """
    commits = commits_between(repository, good, bad)
    with tempfile.TemporaryDirectory(prefix="gpubench-bisect-") as folder:
        trees = _Trees(repository, Path(folder), build or BUILD, built, say)
        try:
            return _search(gate, trees, commits, say)
        finally:
            trees.remove()


def _search(gate: Gate, trees: "_Trees", commits: list[str], say: Callable[[str], None]) -> int:
    """`commits`: the good one first, the bad one last."""
    reference = trees.program(commits[0])
    end = gate.compare(reference, trees.program(commits[-1]))
    slower = end.slower()
    if not slower:
        but = f", but could not be judged wholly: {end.problems[0]}" if end.problems else ""
        raise CannotJudgeError(commits[-1][:12], f"is not slower than {commits[0][:12]}{but}")
    say(f"{len(slower)} rows are slower, {slower[0]} among them; {len(commits) - 1} commits")
    low, high = 0, len(commits) - 1  # good, bad
    at_high = end
    passed_over: set[int] = set()
    while True:
        middle = _middle(low, high, passed_over)
        if middle is None:
            break
        try:
            found = gate.compare(reference, trees.program(commits[middle]))
            is_bad = _is_bad(found, slower)
        except ReportError as error:
            say(f"{commits[middle][:12]} passed over: {error.problem}")
            passed_over.add(middle)
            continue
        say(f"{commits[middle][:12]} is {'bad' if is_bad else 'good'}")
        if is_bad:
            high, at_high = middle, found
        else:
            low = middle
    between = [commits[i][:12] for i in range(low + 1, high)]
    if between:
        print(f"one of {', '.join(between)} or {commits[high][:12]} (they could not be tried)")
    else:
        print(f"first bad commit: {trees.title(commits[high])}")
    there = set(at_high.slower())
    for name in slower:
        why = "" if name in there else at_high.why_not_judged(name)
        if why:
            print(f"  not judged there: {name}: {why}")
        else:
            print(f"  {'slower' if name in there else 'slower only later'}: {name}")
    return 1


def _is_bad(result: GateResult, sought: list[str]) -> bool:
    """Whether one of the rows that made the end bad is slower: another row's change is not what is
    sought. Raises CannotJudgeError where none is, and one of them may be."""
    if set(result.slower()) & set(sought):
        return True
    for name in sought:
        if why := result.why_not_judged(name):
            raise CannotJudgeError(name, f"{name}: {why}")
    return False


def _middle(low: int, high: int, passed_over: set[int]) -> int | None:
    """The commit nearest to the middle between the two that can still be tried."""
    left = [i for i in range(low + 1, high) if i not in passed_over]
    return min(left, key=lambda i: abs(2 * i - low - high), default=None)


def _git(repository: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        raise ReportError("git", "is not installed") from None
    if done.returncode != 0:
        raise ReportError(repository, f"git: {last_line(done.stderr, done.returncode)}")
    return done.stdout.strip()


def commits_between(repository: Path, good: str, bad: str) -> list[str]:
    """The good commit, then those of the first-parent way to the bad one. ReportError where there
    is no such way."""
    first, last = (_commit(repository, name) for name in (good, bad))
    if subprocess.run(
        ["git", "-C", str(repository), "merge-base", "--is-ancestor", first, last], check=False
    ).returncode:
        raise ReportError(good, f"is no ancestor of {bad}")
    if first == last:
        raise ReportError(good, f"and {bad} are the same commit")
    way = f"{first}..{last}"
    between = _git(repository, "rev-list", "--reverse", "--first-parent", way).split()
    # Where the good commit came in by a merge, those before the merge do not have it in them: they
    # may be slow for what it mended.
    later = set(_git(repository, "rev-list", "--ancestry-path", way).split())
    return [first, *(commit for commit in between if commit in later)]


def _commit(repository: Path, name: str) -> str:
    """The commit's hash. ReportError where the name stands for none."""
    _git(repository, "rev-parse", "--git-dir")  # the folder may be none of git's
    try:
        return _git(
            repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
    except ReportError:
        raise ReportError(
            name, f"is no commit, tag or branch in {repository}; git log --oneline lists commits"
        ) from None


class _Trees:
    """Worktrees of commits, each built once."""

    def __init__(
        self, repository: Path, folder: Path, build: str, built: Path, say: Callable[[str], None]
    ) -> None:
        self._repository, self._folder, self._build = repository, folder, build
        self._built, self._say = built, say

    def program(self, commit: str) -> Path:
        """The program of that commit. ReportError if it cannot be built."""
        tree = self._folder / commit
        if not tree.exists():
            _git(self._repository, "worktree", "add", "--detach", str(tree), commit)
            self._say(f"building {commit[:12]}")
            code, out, err = call_group(["bash", "-c", self._build], cwd=tree)
            if code != 0:
                why = last_line(err or out, code)
                raise ReportError(commit[:12], f"does not build: {why}")
        program = tree / self._built
        if not program.exists():
            raise ReportError(commit[:12], f"the build made no {shlex.quote(str(self._built))}")
        return program

    def title(self, commit: str) -> str:
        return clean(
            _git(self._repository, "show", "--no-patch", "--format=%h %s (%an, %as)", commit)
        )

    def remove(self) -> None:
        for tree in self._folder.iterdir():
            subprocess.run(
                ["git", "-C", str(self._repository), "worktree", "remove", "--force", str(tree)],
                capture_output=True,
                check=False,
            )
