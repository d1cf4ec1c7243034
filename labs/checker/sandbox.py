"""Runs a program that nobody trusts: limits on time, memory and output; it loses only itself."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    seconds: float = 20.0
    memory_bytes: int = 4 << 30  # resident
    output_bytes: int = 8 << 20
    file_bytes: int = 64 << 20


@dataclass(frozen=True)
class Ended:
    """How it went: `why` is empty unless a limit ended it."""

    returncode: int
    stdout: str
    stderr: str
    why: str


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def run(
    command: list[str],
    directory: Path,
    limits: Limits | None = None,
    keep: tuple[str, ...] = ("PATH",),
) -> Ended:
    """`command` in `directory`, without input, and of the environment only what `keep` names."""
    limits = limits or Limits()

    def limit_child() -> None:
        cpu = int(limits.seconds * (os.cpu_count() or 1)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    child = subprocess.Popen(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: os.environ[name] for name in keep if name in os.environ},
        start_new_session=True,
        preexec_fn=limit_child,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    streams = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    deadline = time.monotonic() + limits.seconds
    why = ""
    with selectors.DefaultSelector() as selector:
        for descriptor in streams:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and not why:
            for key, _ in selector.select(timeout=0.05):
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    streams[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
            if time.monotonic() > deadline:
                why = f"did not end within {limits.seconds:g} s: is there a loop without an end?"
            elif sum(map(len, streams.values())) > limits.output_bytes:
                why = f"wrote more than {limits.output_bytes >> 20} MiB of output"
            elif _resident_bytes(child.pid) > limits.memory_bytes:
                why = f"took more than {limits.memory_bytes >> 30} GiB of memory"
    if why:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    out, err = (
        streams[s.fileno()].decode("utf-8", "replace") for s in (child.stdout, child.stderr)
    )
    child.stdout.close()
    child.stderr.close()
    if not why and child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        why = f"was ended by {name}"
    return Ended(child.returncode, out, err, why)
