"""The GitHub Action: what GitHub reads of it, and its step, run as a runner would."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging/github-action"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text())
(STEP, UPLOAD) = ACTION["runs"]["steps"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose scripts/nightly says what it was asked for, and ends as ANSWER says."""
    folder = tmp_path / "packaging/github-action"
    folder.mkdir(parents=True)
    step = folder / "nightly"
    step.write_text((FOLDER / "nightly").read_text())
    step.chmod(0o755)
    script = tmp_path / "scripts/nightly"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/bash\n"
        'for word in "$@"; do printf "<%s>" "$word"; done; echo\n'
        'for word in "$@"; do case "$word" in --webhook=*@*) cat "${word#*@}" ;; esac; done\n'
        'exit "${ANSWER:-0}"\n'
    )
    script.chmod(0o755)
    return tmp_path


def run(checkout: Path, **inputs: str) -> tuple[int, str, str, str]:
    """Exit code, standard output, $GITHUB_OUTPUT and the summary of the step."""
    files = {name: checkout / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    made = {name: inputs.get(name, "") for name in STEP["env"]} | {
        "ANSWER": inputs.get("ANSWER", "0")
    }
    runner = {"RUNNER_TEMP": str(checkout), "PATH": os.environ["PATH"], "TMPDIR": str(checkout)}
    done = subprocess.run(
        [checkout / STEP["run"]],
        env=made | runner | {name: str(file) for name, file in files.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout, *(file.read_text() for file in files.values())


def test_inputs_reach_the_step_through_its_environment_alone() -> None:
    """An input in `run` would be code: whoever names a branch could run commands."""
    assert "${{" not in STEP["run"]
    used = {
        name: re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1]
        for name, text in STEP["env"].items()
    }
    assert set(used.values()) == set(ACTION["inputs"])
    script = (FOLDER / "nightly").read_text()
    assert all(f"${{{name}" in script or f'"${name}"' in script for name in used)
    assert STEP["working-directory"] == "${{ github.action_path }}/../.."
    assert (ROOT / STEP["run"]).stat().st_mode & 0o100


def test_a_night_ends_as_the_night_did_and_is_the_summary(checkout: Path) -> None:
    inputs = {
        "COMMAND": "run",
        "STORE": "/srv/my nights",
        "ARGUMENTS": "--suite=quick\n\n--extra=a b",
    }
    for answer in ("0", "1", "2", "3"):
        code, out, outputs, summary = run(checkout, **inputs, ANSWER=answer)
        assert str(code) == answer
        assert outputs == f"report=/srv/my nights/report.html\nexit-code={answer}\n"
        given = "<run><--suite=quick><--extra=a b><--store=/srv/my nights>"
        assert out == f"{given}<--junit={checkout}/gpubench-night.xml>\n"
        assert summary == f"```\n{out}```\n"
    assert UPLOAD["if"].startswith("always()")
    declared = re.findall(r"steps\.nightly\.outputs\.([\w-]+)", (FOLDER / "action.yml").read_text())
    assert set(declared) == {"exit-code", "report"}


def test_a_webhook_is_on_no_command_line_and_in_no_file_afterwards(checkout: Path) -> None:
    code, out, _, _ = run(checkout, COMMAND="run", STORE="/s", WEBHOOK="slack:https://hooks/secret")
    assert code == 0
    words, told = out.splitlines()
    assert "secret" not in words
    assert "<--webhook=slack:@" in words
    assert told == "https://hooks/secret"
    assert not list(checkout.glob("tmp.*"))


def test_the_gate_is_markdown_in_the_summary(checkout: Path) -> None:
    code, out, outputs, summary = run(
        checkout, COMMAND="compare", BASE="a/gpubench", HEAD="b/gpubench", ANSWER="1"
    )
    assert (code, outputs) == (1, "exit-code=1\n")
    assert summary == out == "<compare><a/gpubench><b/gpubench>\n"


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"COMMAND": "run"}, "store: names no folder"),
        ({"COMMAND": "compare", "BASE": "a"}, "base and head: two programs"),
        ({"COMMAND": "destroy"}, "command: 'destroy'; takes run or compare"),
    ],
)
def test_a_mistake_is_one_error_of_the_job(checkout: Path, inputs: dict, problem: str) -> None:
    code, out, outputs, _ = run(checkout, **inputs)
    assert (code, outputs) == (2, "exit-code=2\n")
    assert out.startswith(f"::error::{problem}")
    assert len(out.splitlines()) == 1
