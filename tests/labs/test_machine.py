"""What this machine lacks is nobody's fault, and what a compiler makes is bounded."""

from __future__ import annotations

import csv
import subprocess
import time
from pathlib import Path

import pytest
from checker import build, running, tools
from checker.build import CompileError, Program, compile_solution, plain_messages
from checker.course import LabError, MachineError
from checker.grade import grade
from checker.policy import ForbiddenError
from checker.report import Submission
from checker.sandbox import Ended, Limits, run
from checker.tools import TooMuchError

from .command import ENVIRONMENT, command_of
from .conftest import BUILD, LABS
from .test_class import submit

LAB = LABS[0]


def test_a_machine_without_memory_grades_nobody(prepared: object, tmp_path: Path) -> None:
    submit(tmp_path / "class" / "ada")
    table = tmp_path / "table.csv"
    words = command_of("class", LAB.number, str(tmp_path / "class"), "--csv", str(table))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -v 12000000; exec "$@"', "bash", *words],
        env=ENVIRONMENT,
        cwd=LAB.folder.parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    (row,) = csv.DictReader(table.open())
    assert row["total"] == ""
    assert row["remark"].startswith("not graded: not enough memory: the machine")


LACKING = Ended(2, "", "gpubench: the stack may take only 64 KiB, and 256 KiB are needed\n", "")


@pytest.mark.parametrize(
    ("ended", "judged"),
    [
        (Ended(-9, "", "", "had 0.1 s of a processor's time in 20 s", is_starved=True), LACKING),
        (LACKING, LACKING),
    ],
)
def test_what_the_machine_lacks_is_no_result(
    ended: Ended, judged: Ended, tmp_path: Path, monkeypatch
) -> None:
    program = Program(tmp_path / "lab", tmp_path / "unit.o", judge=tmp_path / "judge")
    ends = {program.path: ended, program.judge: judged}
    monkeypatch.setattr(running, "run", lambda words, *_, **__: ends[Path(words[0])])
    with pytest.raises(MachineError):
        running.run_rows(program, tmp_path, "model:h200-sxm", 7)


def test_what_the_solution_alone_lacks_is_its_result(
    prepared: object, tmp_path: Path, monkeypatch
) -> None:
    # Whatever writes the words: the judge runs on the same machine, and has no lack of anything.
    made = tmp_path / "made"
    made.mkdir()
    program = compile_solution(LAB, BUILD, LAB.reference, made)

    def forged(words: list[str], *rest, **more) -> Ended:
        return LACKING if Path(words[0]) == program.path else run(words, *rest, **more)

    monkeypatch.setattr(running, "run", forged)
    ran = running.run_rows(program, made, "model:h200-sxm", 7)
    assert ran.rows == {}
    assert "256 KiB are needed'; without the solution, there is enough" in ran.why


@pytest.mark.parametrize(("patience", "is_starved"), [(1, False), (2, True)])
def test_who_sleeps_is_waited_for_as_long_as_patience_goes(
    tmp_path: Path, patience: float, is_starved: bool
) -> None:
    ended = run(["sleep", "30"], tmp_path, Limits(seconds=0.5, patience=patience))
    assert (bool(ended.why), ended.is_starved) == (True, is_starved)
    assert ("is there a loop without an end?" in ended.why) != is_starved


@pytest.mark.parametrize(("device", "patience"), [("cuda", 1), ("model:h200-sxm", 4)])
def test_a_host_that_waits_for_a_gpu_may_sleep(
    device: str, patience: float, tmp_path: Path, monkeypatch
) -> None:
    given = []
    monkeypatch.setattr(
        running,
        "run",
        lambda _words, _folder, limits, **_: given.append(limits) or Ended(1, "", "", "late"),
    )
    running.run_rows(Program(tmp_path / "lab", tmp_path / "unit.o"), tmp_path, device, 7)
    assert [limits.patience for limits in given] == [patience]


LARGE = """
struct Table {
  int v[1 << 20];
  constexpr Table() : v() {
    for (int i = 0; i < 1024; ++i) {
      for (int j = 0; j < 1024; ++j) v[i * 1024 + j] = (i ^ j) + 1000000;
    }
  }
};
extern const Table table;
constexpr Table table{};
"""


def test_a_solution_of_endless_machine_code_is_not_read(prepared: object, tmp_path: Path) -> None:
    solution = tmp_path / "solution.cuh"
    solution.write_text(LAB.reference.read_text() + LARGE)
    (tmp_path / "made").mkdir()
    with pytest.raises(CompileError, match="its machine code takes more than 8 MiB"):
        compile_solution(LAB, BUILD, solution, tmp_path / "made")


def test_assembly_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch) -> None:
    assembly = tmp_path / "solution.s"
    with assembly.open("wb") as file:
        file.truncate(build.MOST_ASSEMBLY_BYTES + 1)
    monkeypatch.setattr(build, "guarded", lambda _: pytest.fail("it was read"))
    with pytest.raises(ForbiddenError, match="more than 8 MiB of machine code"):
        build._guard(LAB, assembly, tmp_path / "unit.o", "g++")


def test_data_of_any_size_is_not_written(prepared: object, tmp_path: Path) -> None:
    solution = tmp_path / "solution.cuh"
    text = LAB.reference.read_text().replace("y[i])", "y[i]) + huge[i + 5ul]")
    solution.write_text(text.replace("static", "static const char huge[5ul << 30] = {1};\nstatic"))
    made = tmp_path / "made"
    made.mkdir()
    with pytest.raises(ForbiddenError, match="has more than 64 MiB of code and data"):
        compile_solution(LAB, BUILD, solution, made)
    assert sum(file.stat().st_size for file in made.rglob("*") if file.is_file()) < 70 << 20


def test_a_program_of_any_size_is_not_linked(tmp_path: Path) -> None:
    objects = [tmp_path / f"{name}.o" for name in ("main", "table")]
    for unit in objects:
        text = f".data\n.globl {unit.stem}\n{unit.stem}: .byte 1\n.zero 40 << 20\n"
        assert build._assemble(text, unit, "g++")
    words = ["g++", *map(str, objects), "-o", ""]
    with pytest.raises(CompileError, match="its program takes more than 64 MiB"):
        build._link(words, tmp_path, tmp_path / "program")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_tool_that_does_not_end_ends_with_all_that_it_began(tmp_path: Path, monkeypatch) -> None:
    # As the compiler's driver begins an assembler.
    monkeypatch.setattr(tools, "LIMITS", Limits(seconds=1))
    with pytest.raises(TooMuchError, match="sh did not end within"):
        tools.tool(["sh", "-c", "(while :; do :; done) & echo $! > begun; wait"], tmp_path)
    begun = int((tmp_path / "begun").read_text())
    deadline = time.monotonic() + 30
    while lives(begun):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_tool_that_had_no_processor_is_the_machines_fault(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tools, "LIMITS", Limits(seconds=0.2, patience=2))
    with pytest.raises(MachineError, match="sleep had"):
        tools.tool(["sleep", "60"], tmp_path)


def test_a_tool_that_fails_has_not_found_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="nm: "):
        tools.output_of(["nm", "/nonexistent.o"], tmp_path)


def test_a_tool_reads_what_it_is_given(tmp_path: Path) -> None:
    assert tools.output_of(["c++filt"], tmp_path, "_Z1fi\n_Z1gv\n") == "f(int)\ng()\n"


@pytest.mark.parametrize("slow", ["_assemble", "_link"])
def test_who_keeps_a_tool_busy_gets_no_points(
    slow: str, prepared: object, tmp_path: Path, monkeypatch
) -> None:
    known = getattr(build, slow)

    def without_end(*rest: object) -> object:
        monkeypatch.setattr(tools, "LIMITS", Limits(seconds=0, patience=1))
        return known(*rest)

    monkeypatch.setattr(build, slow, without_end)
    folder = submit(tmp_path / "ada")
    submission = Submission(folder / "solution.cuh", folder / "answers.toml")
    report = grade(LAB, submission, BUILD, device="model:h200-sxm", seed=7)
    said = report.part("correctness").lines[-1]
    assert said.startswith("not run: asks too much of the compiler's tools: ")
    assert report.points == report.part("predictions").points


def test_a_message_of_the_compiler_has_an_end(tmp_path: Path) -> None:
    solution = tmp_path / "solution.cuh"
    (line,) = plain_messages(f"{solution}:1:1: error: {'x' * 200_000}", solution)
    assert line.startswith("solution.cuh:1:1: error: xxx")
    assert len(line) < 500
