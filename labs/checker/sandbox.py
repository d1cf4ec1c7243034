"""Runs a program that nobody trusts: limits on time, memory and output; it loses only itself.

In a box (box.py), where this machine has one, it sees what it needs, writes where it is told, knows
no network, and leaves no process behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .box import Box, boxed
from .temporary import asked_later

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Limits:
    # By the clock. Whoever has had less of a processor by then gets up to `patience` times as long,
    # since a busy machine is no loop without an end (1: no longer).
    seconds: float = 20.0
    patience: float = 4
    memory_bytes: int = 4 << 30  # resident, of all its processes
    output_bytes: int = 8 << 20
    file_bytes: int = 1 << 30
    memory_hint: str = ""  # what else may be the reason for that much memory


@dataclass(frozen=True)
class Ended:
    """How it went: `why` is empty unless a limit ended it."""

    returncode: int
    stdout: str
    stderr: str
    why: str
    is_starved: bool = False  # the time was up, and it had had next to no processor


def _children(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError, ValueError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _children(int(child))


def _resident_bytes(pid: int) -> int:
    pages = 0
    for process in _children(pid):
        with contextlib.suppress(OSError, IndexError, ValueError):
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _processor_seconds(pid: int) -> float:
    """What it, its children and those of them that are gone have used."""
    ticks = 0
    for process in _children(pid):
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The name in brackets may hold anything, also brackets and blanks.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _overdue(pid: int, limits: Limits, elapsed: float) -> tuple[str, bool]:
    """Why it has had enough time, if it has, and whether the machine gave it none."""
    if elapsed <= limits.seconds:
        return "", False
    used = _processor_seconds(pid)
    if used >= limits.seconds or limits.patience <= 1:
        return f"did not end within {limits.seconds:g} s: is there a loop without an end?", False
    if elapsed <= limits.seconds * limits.patience:
        return "", False
    why = (
        f"had {used:.1f} s of a processor's time in {elapsed:.3g} s: the machine is too busy, or "
        "it waits for what does not happen"
    )
    return why, True


def _watched(child: subprocess.Popen[bytes], limits: Limits) -> tuple[str, str, str, bool]:
    """What it writes until it ends, on both streams, which limit ended it, and whether that is the
    machine's fault."""
    assert child.stdout is not None
    assert child.stderr is not None
    streams = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    began = time.monotonic()
    why, is_starved = "", False
    with selectors.DefaultSelector() as selector:
        for descriptor in streams:
            selector.register(descriptor, selectors.EVENT_READ)
        while (selector.get_map() or child.poll() is None) and not why:
            if not selector.get_map():
                time.sleep(0.01)  # it has closed both, and goes on
            for key, _ in selector.select(timeout=0.05):
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    streams[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
            why, is_starved = _overdue(child.pid, limits, time.monotonic() - began)
            if why:
                break
            if sum(map(len, streams.values())) > limits.output_bytes:
                why = f"wrote more than {limits.output_bytes >> 20} MiB of output"
            elif _resident_bytes(child.pid) > limits.memory_bytes:
                why = f"took more than {limits.memory_bytes / 2**30:g} GiB of memory"
                why += limits.memory_hint
    out, err = (
        streams[s.fileno()].decode("utf-8", "replace") for s in (child.stdout, child.stderr)
    )
    return out, err, why, is_starved


def _end(child: subprocess.Popen[bytes]) -> None:
    """It and whatever of its group is left: a box ends with its first process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def run(
    command: list[str],
    directory: Path,
    limits: Limits | None = None,
    keep: tuple[str, ...] = ("PATH",),
    box: Box | None = None,
    stdin: int = subprocess.DEVNULL,
) -> Ended:
    """`command` in `directory`, and of the environment only what `keep` names."""
    limits = limits or Limits()
    own = os.getpid()

    def limit_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, unasked)
        # Nobody limits its memory once this process is gone, so it ends as well; so does its box.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        cpu = int(limits.seconds * (os.cpu_count() or 1)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with boxed(command, directory, box) as (words, descriptors):
        child = None
        try:
            with asked_later() as unasked:  # or nobody would end a child that is just being started
                child = subprocess.Popen(
                    words,
                    cwd=directory,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={name: os.environ[name] for name in keep if name in os.environ},
                    start_new_session=True,
                    preexec_fn=limit_child,
                    pass_fds=descriptors,
                )
            out, err, why, is_starved = _watched(child, limits)
        finally:
            if child is not None:
                _end(child)
    code = child.returncode
    if not why and box is not None and code > 128:  # as a box tells of signals
        code = 128 - code
    if not why and code < 0:
        with contextlib.suppress(ValueError):
            why = f"was ended by {signal.Signals(-code).name}"
    return Ended(code, out, err, why, is_starved)
