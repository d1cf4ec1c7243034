"""Where results can be written: files, and what is none."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import shlex
import shutil
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import BUILD, run

MODEL = "--device=model:h200-sxm"
ROW = "--benchmark_filter=^bank_conflicts/strided/bytes:4/stride:1$"
ROWS = "--benchmark_filter=^bank_conflicts/strided/"


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_a_device_is_written_to_and_stays_one(tmp_path: Path, flag: str) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert run(MODEL, ROW, f"{flag}={device}").returncode == 0
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]  # and nothing lies beside it


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_a_pipe_gets_the_file(tmp_path: Path, flag: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    assert run(MODEL, ROW, f"{flag}={pipe}").returncode == 0
    reader.join(timeout=30)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert isinstance(json.loads(got[0]), dict)
    assert list(tmp_path.iterdir()) == [pipe]


@contextmanager
def waiting_for_a_reader(pipe: Path, flag: str) -> Iterator[subprocess.Popen[str]]:
    """A run that says that it waits for somebody who reads the pipe."""
    os.mkfifo(pipe)
    command = [str(BUILD / "gpubench"), MODEL, ROW, f"{flag}={pipe}"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            ready, _, _ = select.select([process.stderr], [], [], 60)
            said = process.stderr.readline() if ready else ""
            assert said == f"gpubench: waiting until somebody reads the pipe '{pipe}'\n"
            yield process
        finally:
            process.kill()  # it may wait for ever


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_a_pipe_that_nobody_reads_is_waited_for_aloud(tmp_path: Path, flag: str) -> None:
    pipe = tmp_path / "pipe"
    with waiting_for_a_reader(pipe, flag) as process:
        assert isinstance(json.loads(pipe.read_text()), dict)
        assert process.wait(timeout=60) == 0


def test_a_pipe_is_waited_for_where_nothing_can_be_said(tmp_path: Path) -> None:
    """That the sentence could not be printed must not be taken for why the pipe does not open."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [str(BUILD / "gpubench"), MODEL, ROW, f"--benchmark_out={pipe}"]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=full) as process,
    ):
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            assert isinstance(json.loads(pipe.read_text()), dict)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace"])
def test_a_signal_ends_the_wait_for_a_reader(tmp_path: Path, flag: str) -> None:
    pipe = tmp_path / "pipe"
    with waiting_for_a_reader(pipe, flag) as process:
        process.terminate()
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        assert process.stderr.read().startswith(f"gpubench: cannot write '{pipe}': ")


def test_a_link_to_standard_output_stays_one(tmp_path: Path) -> None:
    link, printed = tmp_path / "link", tmp_path / "printed"
    link.symlink_to("/dev/stdout")
    with printed.open("w") as file:
        command = [str(BUILD / "gpubench"), MODEL, ROW, f"--benchmark_out={link}"]
        assert subprocess.run(command, stdout=file, check=False, timeout=60).returncode == 0
    assert link.is_symlink()
    text = printed.read_text()
    assert text.startswith("gpubench: ")
    result, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    assert len(result["benchmarks"]) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "printed"]


@pytest.mark.parametrize("program", ["gpubench", "gpubench-model"])
@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2), (1,)])
def test_no_file_takes_the_place_of_a_closed_stream(
    tmp_path: Path, program: str, closed: tuple[int, ...]
) -> None:
    out = tmp_path / "run.json"
    closing = " ".join(f"{stream}>&-" for stream in closed)
    script = f"exec '{BUILD}/{program}' '{MODEL}' '{ROW}' '--benchmark_out={out}' {closing}"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["benchmarks"]) == 1
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["run.json", "run.samples.jsonl"]


@pytest.mark.parametrize(
    "flag", [ROW, "--benchmark_list_tests", "--list_devices", "--help", "--version"]
)
@pytest.mark.parametrize("target", [">&-", ">/dev/full"])
def test_what_cannot_be_printed_is_an_error(flag: str, target: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec '{BUILD}/gpubench' '{MODEL}' '{flag}' {target}"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot write to standard output" in done.stderr


def test_a_link_to_a_file_stays_and_the_file_is_replaced(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    link = tmp_path / "run.json"
    link.symlink_to(there / "monday.json")  # which is not there yet
    for _ in range(2):
        assert run(MODEL, ROW, f"--benchmark_out={link}").returncode == 0
        assert link.is_symlink()
        assert json.loads((there / "monday.json").read_text())["benchmarks"]
    # A link to tuesday.json takes no samples from monday.json.
    assert sorted(path.name for path in there.iterdir()) == ["monday.json", "monday.samples.jsonl"]
    assert list(tmp_path.glob("*.samples.jsonl")) == []


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write to the folder cannot have another file overwritten."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    folder = tmp_path / "shared"
    folder.mkdir()
    out = folder / "run.json"
    # The process has the number of the shell that plants the link and becomes it.
    script = f"""
ln -s '{precious}' '{out}'.partial-$$
exec '{BUILD}/gpubench' '{MODEL}' '{ROW}' '--benchmark_out={out}'
"""
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert precious.read_text() == "precious"
    assert json.loads(out.read_text())["benchmarks"]
    journal = folder / "run.json.journal"
    journal.symlink_to(precious)
    done = run(MODEL, ROW, f"--benchmark_out={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert str(journal) in complaint
    assert precious.read_text() == "precious"


def test_the_command_for_a_report_is_one_for_a_shell(tmp_path: Path) -> None:
    out = tmp_path / "it's a run.json"
    done = run(MODEL, ROW, f"--benchmark_out={out}")
    [command] = re.findall(r"report: (gpubench-report .*)", done.stdout)
    assert shlex.split(command) == ["gpubench-report", "html", str(out)]


def test_no_terminal_obeys_the_name_of_an_output(tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode("\x1b[31mit's\n\u202ered".encode() + b"\xe9.json")
    done = run(MODEL, ROW, f"--benchmark_out={out}")
    assert done.returncode == 0
    assert not set(done.stdout) & set("\x1b\u202e\udce9")
    [command] = re.findall(r"report: (gpubench-report .*)", done.stdout)
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True
    ).stdout
    assert words.split(b"\0")[2] == os.fsencode(out)


# What no call of the program's own asks for, and a flag of that length does.
NO_MEMORY = """
#include <stddef.h>
extern void* __libc_malloc(size_t);
void* malloc(size_t bytes) {
  return bytes >= 54321 && bytes < 54400 ? NULL : __libc_malloc(bytes);
}
"""


def test_a_launcher_without_memory_is_one_clear_line(tmp_path: Path) -> None:
    source, library = tmp_path / "no_memory.c", tmp_path / "no_memory.so"
    source.write_text(NO_MEMORY)
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", str(source), "-o", str(library)]
    if shutil.which("cc") is None or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no C compiler")
    done = subprocess.run(
        [str(BUILD / "gpubench"), "--device=" + "x" * 54321],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"LD_PRELOAD": str(library)},
    )
    assert done.returncode == 1
    [complaint] = done.stderr.splitlines()
    assert complaint.startswith("gpubench: not enough memory")


def test_no_two_results_share_their_samples(tmp_path: Path) -> None:
    for name in ("run.json", "run", "run.csv", "run.1"):
        assert run(MODEL, ROW, f"--benchmark_out={tmp_path / name}").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *("run", "run.1", "run.csv", "run.json"),
        *("run-samples.jsonl", "run.1-samples.jsonl", "run.csv-samples.jsonl", "run.samples.jsonl"),
    }


def test_one_file_by_two_spellings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for out, trace in [
        ("folder/run.json", "folder/../folder/run.json"),
        ("folder/run.json", "link/run.json"),
        ("folder/run.json", "./link/run.samples.jsonl"),
        ("folder/run.json", "link/run.json.journal"),
    ]:
        done = run(MODEL, ROW, f"--benchmark_out={tmp_path}/{out}", f"--trace={tmp_path}/{trace}")
        assert done.returncode == 2, trace
        [complaint] = done.stderr.splitlines()
        assert "is a file that --benchmark_out writes" in complaint
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("flag", ["--benchmark_out", "--trace", "--resume"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("circle", "Too many levels of symbolic links"),
        ("x" * 256, "File name too long"),
        ("x" * 255, "File name too long"),
        ("file/run.json", "Not a directory"),
    ],
)
def test_a_name_that_no_file_can_have_is_one_clear_line(
    tmp_path: Path, flag: str, name: str, why: str
) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    done = run(MODEL, ROW, f"{flag}={tmp_path / name}")
    assert done.returncode == 2
    assert done.stderr == f"gpubench: cannot write '{tmp_path / name}': {why}\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "file"]


@pytest.mark.parametrize("name", ["folder", "x" * 232])
def test_what_cannot_lie_beside_the_result_is_told_at_once(tmp_path: Path, name: str) -> None:
    """Not after all rows have been run."""
    (tmp_path / "folder.samples.jsonl").mkdir()
    done = run(MODEL, ROW, f"--benchmark_out={tmp_path / name}.json")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert f"cannot write '{tmp_path / name}.samples.jsonl': " in complaint
    assert [p.name for p in tmp_path.iterdir()] == ["folder.samples.jsonl"]


@pytest.mark.parametrize("flag", ["benchmark_filter", "benchmark_context"])
def test_text_that_is_not_utf8_is_refused_at_once(tmp_path: Path, flag: str) -> None:
    word = os.fsdecode(f"--{flag}=a=caf".encode() + b"\xe9")
    out = tmp_path / "run.json"
    done = run(MODEL, word, f"--benchmark_out={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert complaint == f"gpubench: --{flag}='a=caf?': must be UTF-8 text"
    assert list(tmp_path.iterdir()) == []


def limited(out: Path, size: int, *flags: str) -> subprocess.CompletedProcess[str]:
    """A run that can write no file beyond `size` bytes, nor keep more in memory for the next
    process."""
    command = [str(BUILD / "gpubench"), MODEL, ROWS, "--benchmark_format=csv"]
    return subprocess.run(
        [*command, f"--benchmark_out={out}", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_a_disk_that_fills_up_is_one_clear_line(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = run(MODEL, ROWS, "--benchmark_format=csv", f"--benchmark_out={out}")
    assert done.returncode == 0
    undisturbed = json.loads(out.read_text())["benchmarks"]
    size = out.stat().st_size
    out.write_text("monday's")
    done = limited(out, size // 4)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 13  # what was measured is at least shown
    first, last = done.stderr.splitlines()[-2:]
    assert "run.json.journal': File too large: until it can, rows are kept in memory" in first
    assert "cannot write" in last
    assert f"--resume={out}" in last
    assert out.read_text() == "monday's"
    assert sorted(p.name for p in tmp_path.iterdir() if "samples" not in p.name) == [
        "run.json",
        "run.json.journal",
    ]
    # Once there is room again:
    done = run(MODEL, ROWS, "--benchmark_format=csv", f"--resume={out}")
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["benchmarks"] == undisturbed


def test_processes_that_can_leave_nothing_to_the_next_end_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = limited(out, 5000, "--isolate=row")
    assert done.returncode == 1
    assert "no further row can be run: a process's rows cannot be kept" in done.stderr
    assert len(done.stderr.splitlines()) < 10
    done = run(MODEL, ROWS, "--benchmark_format=csv", "--isolate=row", f"--resume={out}")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["benchmarks"]) == 12


def test_a_reader_that_goes_away_costs_no_rows(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    program = f"'{BUILD}/gpubench' {MODEL} '{ROWS}' --benchmark_out={out}"
    script = f"({program}; echo $? >&3) 3>'{tmp_path}/code' | head -1"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert len(done.stdout.splitlines()) == 1
    rest, ended = done.stderr.splitlines()
    assert re.fullmatch(r"gpubench: standard output was closed: \d+ of \d+ rows", ended)
    assert rest.endswith(f"--resume={out}")
    assert (tmp_path / "code").read_text() == "141\n"
    rows = json.loads(out.read_text())["benchmarks"]
    assert rows
    assert all(row["real_time"] > 0 for row in rows)
