"""Where reports can be written: files, and what is none."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically


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
