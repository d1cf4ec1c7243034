"""Every command that a page shows is one: the program exists and takes these words. Sessions are
run on the model, and print what the page says."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gpubench_reports.commands import command_line as report
from gpubench_reports.nightly.commands import command_line as nightly

from .pages import ROOT, Block, Session, blocks, commands, label, missing, pages, sessions, tracked

sys.path.insert(0, str(ROOT / "labs"))
from checker import cli as lab

BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
PRESETS = json.loads((ROOT / "CMakePresets.json").read_text())
# Only the existence of these is checked, by those who use them.
OTHERS = {"cat", "ctest", "export", "git", "pip", "python", "python3", "tar", "xargs"}
OTHERS |= {"rattler-build", "spack"}
IMAGE = "packaging/containers/Containerfile"
IMAGES = ("gpubench", "gpubench-model")
STARTERS = {"mpirun", "srun"}


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not (BUILD / "gpubench").exists():
        pytest.skip(f"gpubench is not built in {BUILD}", allow_module_level=True)


def gpubench(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BUILD / "gpubench"), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
    )


@cache
def help_of_gpubench() -> str:
    return gpubench("--help").stdout


def gpubench_complaint(words: list[str]) -> str:
    """Why gpubench would refuse these flags, or run nothing; it is asked for its rows only."""
    flags = [word.partition("=")[0] for word in words]
    unknown = [flag for flag in flags if not re.search(rf"{flag}\b", help_of_gpubench())]
    if unknown or any(flag in ("--help", "--version", "--list_devices") for flag in flags):
        return f"--help does not know {unknown}" if unknown else ""
    files = ("--benchmark_out=", "--trace=", "--device=model:mine", "--device=cuda")
    asked = [word for word in words if not word.startswith((*files, "--explain="))]
    explained = [word.split("=", 1)[1] for word in words if word.startswith("--explain=")]
    placeholder = [word for word in asked if "NAME" in word]
    if placeholder:
        return ""
    done = gpubench(*asked, "--benchmark_list_tests", "--suite=full")
    rows = done.stdout.split()
    if done.returncode != 0 or not rows:
        return done.stderr or "matches no row"
    return "" if set(explained) <= set(rows) else f"no row {explained}"


# The program of docs/own-kernels.md, and the folder of its concept.
MY_BENCH = "./build/my-bench"
EXAMPLE = "packaging/example"


def own_concepts_complaint(folders: list[str], words: list[str]) -> str:
    """The same of a program that is not built here: its filter names a concept of the folders."""
    concepts = [path.stem for folder in folders for path in (ROOT / folder / "bench").glob("*.cu")]
    pattern = next(w.partition("=")[2] for w in words if w.startswith("--benchmark_filter="))
    if not any(re.search(pattern, f"{name}/") for name in concepts):
        return f"{pattern} names none of {concepts}"
    known = [w for w in words if not w.startswith(("--concepts=", "--benchmark_filter="))]
    return gpubench_complaint(known)


def parser_complaint(parse, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        parse(words)
    except SystemExit as stopped:
        return capsys.readouterr().err if stopped.code else ""
    return ""


def script_complaint(name: str, words: list[str]) -> str:
    """A shell script: every flag stands in it."""
    text = (ROOT / "scripts" / name).read_text()
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    return ", ".join(flag for flag in flags if flag not in text)


def cmake_complaint(words: list[str]) -> str:
    kind = "buildPresets" if "--build" in words else "configurePresets"
    names = {preset["name"] for preset in PRESETS[kind]}
    asked = [after for word, after in itertools.pairwise(words) if word == "--preset"]
    return ", ".join(name for name in asked if name not in names)


def podman_complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The file of an image exists and has the arguments; what runs in an image is our command."""
    if words[0] == "build":
        file = words[words.index("-f") + 1]
        if not (ROOT / file).is_file():
            return f"there is no {file}"
        known = re.findall(r"^ARG (\w+)", (ROOT / file).read_text(), re.MULTILINE)
        given = [
            after.partition("=")[0]
            for word, after in itertools.pairwise(words)
            if word == "--build-arg"
        ]
        return ", ".join(name for name in given if name not in known)
    image = next(index for index, word in enumerate(words) if word in IMAGES)
    return complaint(words[image + 1 :], capsys)


def complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with a command, or ""."""
    words = list(itertools.dropwhile(lambda word: re.match(r"[A-Z_]+=", word), words))
    if words[0] in STARTERS:
        words = words[words.index("./gpubench") :]
    program, rest = words[0], words[1:]
    path = program.removeprefix("./").removeprefix(".venv/bin/")
    own = [word.partition("=")[2] for word in rest if word.startswith("--concepts=")]
    if own or program == MY_BENCH:
        return own_concepts_complaint(own or [EXAMPLE], rest)
    if path == "gpubench" or program == "./scripts/bench":
        return gpubench_complaint(rest)
    if path == "gpubench-report":
        return parser_complaint(report._parser().parse_args, rest, capsys)
    if program == "./scripts/nightly":
        named = bool(rest) and (not rest[0].startswith("--") or rest == ["--help"])
        words = rest if named else ["run", *rest]
        return parser_complaint(nightly._parser().parse_args, words, capsys)
    if program == "./scripts/lab":
        known = lab.parser().parse_args
        return parser_complaint(lambda w: known(lab.with_command(w)), rest, capsys)
    if program.startswith("./scripts/"):
        name = program.removeprefix("./scripts/")
        exists = (ROOT / "scripts" / name).is_file()
        return script_complaint(name, rest) if exists else f"{program} does not exist"
    if path == "cmake":
        return cmake_complaint(words)
    if path == "podman":
        return podman_complaint(rest, capsys)
    if path in ("pytest", "ruff"):
        paths = [word for word in rest if "/" in word and not word.startswith("-")]
        return ", ".join(word for word in paths if not (ROOT / word).exists())
    known = path in OTHERS or path.removeprefix("build/") in targets()
    return "" if known else f"nobody knows {program}"


@cache
def targets() -> set[str]:
    """The programs that the build makes."""
    cmake = "".join(path.read_text() for path in tracked("*CMakeLists.txt"))
    return set(re.findall(r"add_executable\(([\w-]+)", cmake))


SHELL = [(page, block) for page in pages() for block in blocks(page.read_text(), "sh")]
CONSOLE = [(page, block) for page in pages() for block in blocks(page.read_text(), "console")]


def ids(found: list[tuple[Path, Block]]) -> list[str]:
    return [f"{label(page)}:{n}" for n, (page, _) in enumerate(found)]


@pytest.mark.parametrize(("page", "block"), SHELL, ids=ids(SHELL))
def test_commands_are_taken_as_they_stand(page: Path, block: Block, capsys):
    wrong = {" ".join(words): complaint(words, capsys) for words in commands(block)}
    assert wrong
    assert not {command: why for command, why in wrong.items() if why}


@pytest.mark.parametrize(
    "words",
    [
        ["./gpubench", "--benchmark_filtre=x"],
        ["./gpubench", "--benchmark_filter=^nothing/"],
        ["./gpubench", "--device=model:h200-sxm", "--explain=coalescing/strided_read/stride:10"],
        [".venv/bin/gpubench-report", "compare", "--fail-on=5%"],
        ["./scripts/nightly", "judge"],
        ["./scripts/lab", "hint", "--loud"],
        ["./scripts/nothing"],
        ["./scripts/calibrate", "--in=x"],
        ["cmake", "--preset", "debug"],
        [".venv/bin/pytest", "tests/nothing"],
        ["podman", "build", "-f", "packaging/containers/amd.Containerfile", "."],
        ["podman", "build", "--build-arg", "CUDA=1", "-f", IMAGE, "."],
        ["podman", "run", "--rm", "gpubench", "gpubench", "--quick"],
        ["fortune"],
    ],
    ids=lambda words: " ".join(words),
)
def test_a_wrong_command_is_noticed(words: list[str], capsys):
    assert complaint(words, capsys)


def run(session: Session, folder: Path) -> str:
    """What the command of a session prints; it has succeeded."""
    words = session.command
    words = words.replace(".venv/bin/gpubench-report", f"{sys.executable} -m gpubench_reports")
    words = words.replace("./gpubench ", f"{BUILD / 'gpubench'} ")
    done = subprocess.run(
        ["bash", "-c", words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "140"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", sorted({page for page, _ in CONSOLE}), ids=label)
def test_what_a_page_shows_is_what_is_printed(page: Path, tmp_path: Path):
    for block in [block for where, block in CONSOLE if where == page]:
        for session in sessions(block):
            output = run(session, tmp_path)
            assert session.printed
            assert not missing(session.printed, output), f"{session.command}\n{output}"


def test_a_line_that_is_not_printed_is_noticed():
    assert missing(["a", "...", "c"], "a\nb\nc\n") == []
    assert missing(["a", "x"], "a\nb\n") == ["x"]
    assert missing(["b", "a"], "a\nb\n") == ["a"]


def test_the_readme_runs_the_model_and_its_reports():
    shown = [s.command for page, b in CONSOLE if page == ROOT / "README.md" for s in sessions(b)]
    assert [command for command in shown if "gpubench-report" in command]
    assert [command for command in shown if command.startswith("./gpubench --device=model:")]
    assert shutil.which("bash")
