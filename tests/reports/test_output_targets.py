"""Where reports can be written: files, and what is none."""

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically
from gpubench_reports.fleet.result_files import read_folder

from .factory import make_document
from .sweep import write_sweep


def test_a_device_is_written_to_and_stays_one(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    write_atomically(device, b"x")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


def test_a_pipe_gets_the_content(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"page")
    reader.join(timeout=30)
    assert got == [b"page"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_who_waits_for_a_reader_says_so(tmp_path, monkeypatch):
    pipe, said = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)
    written = []

    class Errors(io.StringIO):
        def write(self, text: str, /) -> int:
            written.append(text)
            said.set()
            return len(text)

    monkeypatch.setattr(sys, "stderr", Errors())
    writer = threading.Thread(target=write_atomically, args=(pipe, b"page"), daemon=True)
    writer.start()
    is_said = said.wait(timeout=10)
    assert pipe.read_bytes() == b"page"  # also what lets the writer end
    writer.join(timeout=30)
    assert is_said
    assert "".join(written) == f"gpubench: waiting until somebody reads the pipe '{pipe}'\n"


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    link = tmp_path / "run.html"
    link.symlink_to(there / "monday.html")  # which is not there yet
    for content in (b"one", b"two"):
        write_atomically(link, content)
        assert link.is_symlink()
        assert (there / "monday.html").read_bytes() == content
    assert sorted(path.name for path in there.iterdir()) == ["monday.html"]


def test_what_standard_output_is_keeps_what_it_has(tmp_path):
    printed = tmp_path / "printed"
    code = (
        "import pathlib; from gpubench_reports.common.files import write_atomically as w;"
        "print('before', flush=True); w(pathlib.Path('/dev/stdout'), b'page\\n'); print('after')"
    )
    with printed.open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, timeout=60)
    assert printed.read_text() == "before\npage\nafter\n"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ReportError, match="cannot write"):
        write_atomically(Path(tmp_path), b"x")


def refused(capsys, words: list[str], out: Path) -> None:
    """Nothing is written over `out`, which is read, and one line says so."""
    before = out.read_bytes()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("gpubench-report: ")
    assert said.endswith(": is read here: a report must not replace its input\n")
    assert len(said.splitlines()) == 1
    assert out.read_bytes() == before


@pytest.mark.parametrize("link", [False, True])
def test_a_page_does_not_replace_what_it_is_about(write, tmp_path, capsys, link):
    one, two = write(make_document(), "one.json"), write(make_document(), "two.json")
    out = {path: path for path in (one, two)}
    if link:
        for path in out:
            out[path] = tmp_path / f"{path.name}.link"
            out[path].symlink_to(path)
    for path in (one, two):
        refused(capsys, ["html", str(one), str(two), "-o", str(out[path])], path)
    refused(capsys, ["html", str(one), f"--against={two}", "-o", str(out[two])], two)


def test_a_page_named_like_its_result_is_refused(write, capsys):
    path = write(make_document(), "run.html")
    refused(capsys, ["html", str(path), "-o", str(path)], path)


@pytest.mark.parametrize(
    "name",
    [
        *("a.samples.jsonl", "a.series.jsonl", "a.explain.json", "a.trace.json"),
        *("a.json.journal", "a.json.journal.old"),
    ],
)
def test_no_report_replaces_what_a_run_has_left_beside_its_result(write, capsys, name):
    result, beside = write(make_document(), "a.json"), write("the samples", name)
    other = write(make_document(), "b.json")
    for words in (["html", result], ["html", other, result], ["timed", result]):
        refused(capsys, [*map(str, words), "-o", str(beside)], beside)


@pytest.mark.parametrize("name", ["a.samples.jsonl", "a.explain.json", "a.json.journal"])
def test_what_lies_beside_the_file_behind_a_link_is_not_replaced(write, tmp_path, capsys, name):
    write(make_document(), "a.json")
    beside = write("the samples", name)
    (folder := tmp_path / "elsewhere").mkdir()
    (link := folder / "today.json").symlink_to("../a.json")
    refused(capsys, ["timed", str(link), "-o", str(beside)], beside)


def test_samples_of_a_result_without_an_ending_are_not_replaced(write, capsys):
    result, beside = write(make_document(), "run"), write("the samples", "run-samples.jsonl")
    refused(capsys, ["timed", str(result), "-o", str(beside)], beside)


def test_a_converted_file_does_not_replace_the_log(write, capsys):
    log = write("a log", "log.txt")
    refused(capsys, ["import", "--from=nccl-tests", str(log), "-o", str(log)], log)


def test_a_fleets_page_does_not_replace_a_gpus_result(tmp_path, capsys):
    sweep = write_sweep(tmp_path / "sweep")
    (sweep / "n2-gpu0.log").write_text("no GPU\n")
    (racks := tmp_path / "racks.csv").write_text("node,rack\nn1,r1\n")
    for out in (sweep / "n1-gpu0.json", sweep / "n2-gpu0.log", racks):
        refused(capsys, ["fleet", str(sweep), f"--inventory={racks}", "-o", str(out)], out)


def test_a_loop_of_links_is_one_line(write, tmp_path, capsys):
    path, loop = write(make_document()), tmp_path / "loop.json"
    loop.symlink_to(loop)
    why = "Too many levels of symbolic links"
    for words, verb in (
        (["html", str(path), "-o", str(loop)], "write"),
        (["html", str(path), f"--against={loop}"], "read"),
        (["calibrate", str(path), "-o", str(loop)], "write"),
    ):
        assert main(words) == 2
        assert capsys.readouterr().err == f"gpubench-report: {loop}: cannot {verb}: {why}\n"


@pytest.mark.parametrize(("stream", "name"), [(1, "verdict.json"), (2, "said.log")])
def test_what_the_shell_made_for_the_verdict_is_no_gpu(tmp_path: Path, stream, name):
    """As in `gpubench-report fleet sweep --json > sweep/verdict.json`."""
    sweep = write_sweep(tmp_path / "sweep", gpus=4)
    kept = os.dup(stream)
    with (sweep / name).open("w") as file:
        os.dup2(file.fileno(), stream)
        try:
            fleet = read_folder(sweep)
        finally:
            os.dup2(kept, stream)
            os.close(kept)
    assert fleet.absent == ()
    assert [machine for machine, _ in read_folder(sweep).absent] == [Path(name).stem]
