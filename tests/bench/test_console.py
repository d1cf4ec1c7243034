"""What a run says in the terminal: grades, colours, how wide, and its last sentence."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from gpubench_reports.results.reader import read
from gpubench_reports.rules.verdicts.judge import judge
from gpubench_reports.rules.verdicts.verdict import (
    EXPECTED,
    FINE,
    GRADES,
    LOW,
    MEANT,
    UNGRADED,
    worst,
)

from .conftest import BUILD, ROOT

MODEL = "--device=model:h200-sxm"
# Rows of every grade but one.
SOME = "--benchmark_filter=^tile_alignment/odd_k|^coalescing/(misaligned_read|gather)"
COLUMNS = ("time", "figure", "of roof", "of law", "grade", "bound by")
ONE = "--benchmark_filter=^bank_conflicts/strided/bytes:4/stride:[12]$"


def lines(*flags: str, device: str = MODEL, **environment: str) -> list[str]:
    done = subprocess.run(
        [str(BUILD / "gpubench"), device, *flags],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.splitlines()


def in_a_terminal(*flags: str, columns: int = 200, **environment: str) -> str:
    """What the program prints where standard output is a terminal of that width."""
    ours, its = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=its, check=True)
    started = subprocess.Popen(
        [str(BUILD / "gpubench"), MODEL, *flags],
        stdout=its,
        stderr=subprocess.DEVNULL,
        env={
            **{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")},
            "TERM": "xterm",
            **environment,
        },
    )
    os.close(its)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # what Linux says where all others have closed it
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    assert started.wait(timeout=60) == 0
    return printed.decode()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """The console of a run, and its result file: of a device whose launches take so long that short
    rows stay behind their law."""
    folder = tmp_path_factory.mktemp("graded")
    slow = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text()) | {"name": "slow"}
    slow["figures"]["kernel_floor_seconds"]["value"] *= 10
    (folder / "slow.json").write_text(json.dumps(slow))
    out = folder / "run.json"
    return lines(SOME, f"--benchmark_out={out}", device=f"--device=model:{folder}/slow.json"), out


def test_console_and_report_grade_every_row_alike(graded: tuple[list[str], Path]) -> None:
    console, out = graded
    verdicts = judge(read(out))
    assert {verdict.grade for verdict in verdicts.values()} >= {EXPECTED, LOW, MEANT, UNGRADED}
    said = {line.split()[0]: line for line in console if line.split()[:1]}
    for name, verdict in verdicts.items():
        [shown] = [grade for grade in GRADES if f"  {grade}  " in said[name] + "  "]
        assert shown == verdict.grade, name


def test_the_last_sentence_counts_grades_and_names_the_worst_and_the_report(
    graded: tuple[list[str], Path],
) -> None:
    console, out = graded
    verdicts = judge(read(out))
    counts = Counter(verdict.grade for verdict in verdicts.values())
    [first] = [v for v in worst(verdicts.values()) if v.grade not in FINE]
    expected = ", ".join(f"{counts[grade]} {grade}" for grade in GRADES if counts[grade])
    share = f"{first.share * 100:.3g} % of {first.yardstick}"
    assert console[-1] == (
        f"{expected}; worst: {first.name}, {share}; report: gpubench-report html {out}"
    )


def test_without_a_result_file_no_report_is_promised() -> None:
    assert lines(ONE)[-1] == "2 as expected"


def test_a_report_that_follows_is_named_instead(tmp_path: Path) -> None:
    out = f"--benchmark_out={tmp_path}/run.json"
    assert lines(ONE, out, GPUBENCH_REPORT_FOLLOWS="its.html")[-1].endswith("; report: its.html")


def test_grades_have_colours_on_a_terminal() -> None:
    printed = in_a_terminal(ONE)
    assert len(re.findall(r"\x1b\[32m  as expected\s*\x1b\[0m", printed)) == 2


@pytest.mark.parametrize(
    ("flags", "environment"),
    [((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"}), (("--benchmark_color=false",), {})],
)
def test_colours_can_be_left_out(flags: tuple[str, ...], environment: dict[str, str]) -> None:
    assert "\x1b" not in in_a_terminal(ONE, *flags, **environment)


def test_a_pipe_has_colours_only_if_asked_for() -> None:
    assert "\x1b" not in "".join(lines(ONE))
    assert "\x1b[32m" in "".join(lines(ONE, "--benchmark_color=true"))


def titles(header: str) -> list[str]:
    return [title for title in COLUMNS if title in header]


def test_a_narrow_terminal_drops_columns_in_the_order_that_the_page_states() -> None:
    page = (ROOT / "docs/command-line.md").read_text()
    [stated] = re.findall(r"columns are dropped in this order: (.+?)\.", page, re.DOTALL)
    order = re.findall(r"\*([^*]+)\*", stated)
    assert order == ["interval", "of law", "bound by", "of roof", "energy", "figure", "time"]
    shown = list(COLUMNS)
    for dropped in order:
        # As wide as it takes without this one: all that come later are there.
        rule = next(line for line in lines(ONE, COLUMNS="400") if line.startswith("---"))
        widths = {"interval": 9, "of law": 10, "bound by": 14, "of roof": 10}
        widths |= {"energy": 0, "figure": 16, "time": 11}  # energy: with --energy only
        gone = order[: order.index(dropped) + 1]
        width = len(rule) - sum(widths[name] for name in gone)
        if dropped in shown:
            shown.remove(dropped)
        header = next(line for line in lines(ONE, COLUMNS=str(width)) if line.startswith("row"))
        assert titles(header) == shown, dropped


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_lines_are_as_wide_as_the_terminal_at_most(columns: int) -> None:
    for printed in (
        lines(ONE, COLUMNS=str(columns)),
        in_a_terminal(ONE, "--benchmark_color=false", columns=columns).splitlines(),
    ):
        table = [line for line in printed if line.startswith(("row", "---", "bank_conflicts/"))]
        assert len(table) == 4
        assert all(len(line) <= columns for line in table), table
        assert all("as expected" in line for line in table[2:])


def test_a_result_file_as_a_table_is_whole_and_without_colours(tmp_path: Path) -> None:
    out = tmp_path / "run.txt"
    flags = ("--benchmark_out_format=console", "--benchmark_color=true", f"--benchmark_out={out}")
    lines(ONE, *flags, COLUMNS="60")
    assert "\x1b" not in out.read_text()
    assert titles(out.read_text()) == list(COLUMNS)


def test_repetitions_are_graded_by_name() -> None:
    assert lines(ONE, "--benchmark_repetitions=3")[-1] == "2 as expected"
