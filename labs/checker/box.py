"""What keeps a program that nobody trusts apart from the rest of the machine.

Bubblewrap where it is installed, else user namespaces as util-linux makes them. Either way: its own
processes, network and file system, which holds the system's programs and libraries, what is named
here, and nothing else; all of it for reading, but for the folders that are named as well.
"""

from __future__ import annotations

import platform
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .temporary import temporary_folder

SYSTEM = tuple(
    Path(path)
    for path in (
        *("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr"),
        *("/etc/alternatives", "/etc/ld.so.cache"),
    )
)
NONE = "none"


@dataclass(frozen=True)
class Box:
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    devices: bool = False  # the machine's, for a GPU


def _works(words: list[str]) -> bool:
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@cache
def kinds() -> tuple[str, ...]:
    """What boxes can be made with here, the best first."""
    with temporary_folder("gpubench-box-") as folder:
        here, root = folder / "here", folder / "root"
        here.mkdir()
        root.mkdir()
        box = Box(writable=(here,))
        tried = {
            "bubblewrap": _bubblewrap(["true"], here, box),
            "user namespaces": _namespaces(["true"], here, box, root),
        }
        return tuple(name for name, words in tried.items() if _works(words))


def kind() -> str:
    """What boxes are made with here: "bubblewrap", "user namespaces" or "none"."""
    return next(iter(kinds()), NONE)


@contextmanager
def boxed(
    command: list[str], directory: Path, box: Box | None
) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The command that runs `command` in the box, and the descriptors that it needs."""
    made = kind() if box is not None else NONE
    if box is None or made == NONE:
        yield command, ()
        return
    # Each once: what is mounted read-only cannot be made again.
    readable = tuple(dict.fromkeys((*box.readable, *_home_of(command[0]))))
    box = Box(readable, box.writable, box.devices)
    if made != "bubblewrap":
        with temporary_folder("gpubench-box-") as root:
            yield _namespaces(command, directory, box, root), ()
        return
    filtered = system_call_filter()
    if not filtered:
        yield _bubblewrap(command, directory, box), ()
        return
    with tempfile.TemporaryFile() as file:
        file.write(filtered)
        file.seek(0)
        words = _bubblewrap(command, directory, box, ("--seccomp", str(file.fileno())))
        yield words, (file.fileno(),)


def _home_of(program: str) -> tuple[Path, ...]:
    """Where a program that is not the system's has its other files; else the program itself."""
    path = Path(program)
    if not path.is_absolute() or not path.exists() or path.resolve().is_relative_to("/usr"):
        return ()
    return (path.resolve().parents[1],) if path.parent.name == "bin" else (path,)


def _bubblewrap(
    command: list[str], directory: Path, box: Box, more: tuple[str, ...] = ()
) -> list[str]:
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in SYSTEM:
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        else:
            words += ["--ro-bind-try", str(path), str(path)]
    words += ["--proc", "/proc", "--tmpfs", "/tmp"]
    words += ["--dev-bind", "/dev", "/dev"] if box.devices else ["--dev", "/dev"]
    if box.devices:
        words += ["--ro-bind-try", "/sys", "/sys"]
    for path in box.readable:
        words += ["--ro-bind", str(path), str(path)]
    for path in box.writable:
        words += ["--bind", str(path), str(path)]
    return [*words, "--chdir", str(directory), *more, "--", *command]


def _namespaces(command: list[str], directory: Path, box: Box, root: Path) -> list[str]:
    """The same with unshare: a shell builds the new root in `root`, in memory."""
    quoted = shlex.quote
    steps = ["set -e", f"root={quoted(str(root))}", "mount -t tmpfs none $root"]
    shown = [(path, False) for path in SYSTEM if path.exists()]
    shown += [(path, False) for path in box.readable]
    shown += [(path, True) for path in box.writable]
    devices = ("/dev",) if box.devices else ("/dev/null", "/dev/zero", "/dev/urandom")
    shown += [(Path(path), True) for path in devices]
    for path, writable in shown:
        place = f"$root{quoted(str(path))}"
        if path.is_symlink():
            steps.append(f"ln -s {quoted(str(path.readlink()))} {place}")
            continue
        if path.is_dir():
            steps.append(f"mkdir -p {place}")
        else:
            steps += [f"mkdir -p $root{quoted(str(path.parent))}", f": > {place}"]
        steps.append(f"mount --rbind {quoted(str(path))} {place}")
        if not writable:
            steps.append(f"mount -o remount,bind,ro {place}")
    inner = f"cd {quoted(str(directory))} && exec setpriv --bounding-set=-all --inh-caps=-all "
    inner += f"--no-new-privs -- {shlex.join(command)}"
    steps += ["mkdir -p $root/proc $root/tmp", "mount -t proc proc $root/proc", "cd $root"]
    steps.append(f"exec chroot $root sh -c {quoted(inner)}")
    own = ("--user", "--map-root-user", "--net", "--ipc", "--uts", "--mount", "--pid")
    return ["unshare", *own, "--fork", "--kill-child", "--", "sh", "-c", "\n".join(steps)]


# What a box's program has no use for, by number on x86-64: other processes' memory, new
# namespaces, mounts, keys, modules, and interfaces of the kernel that are seldom without a hole.
REFUSED_CALLS = (
    *(41, 53),  # socket, socketpair
    *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
    *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),  # mounts and namespaces
    *(248, 249, 250, 298, 321, 323, 425, 426, 427),  # keys, perf, bpf, userfaultfd, io_uring
    *(103, 135, 163, 164, 167, 168, 169, 175, 176, 179, 227, 246, 303, 304, 313, 320),
)
X86_64, AUDIT_X86_64, X32_BIT = "x86_64", 0xC000003E, 0x40000000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
KILL, ALLOW, NOT_PERMITTED = 0x80000000, 0x7FFF0000, 0x00050001


def system_call_filter() -> bytes:
    """A program for the kernel that refuses these calls; empty where they have other numbers."""
    if platform.machine() != X86_64:
        return b""
    count = len(REFUSED_CALLS)
    program = [
        (LOAD, 0, 0, 4),  # the architecture
        (JUMP_EQUAL, 1, 0, AUDIT_X86_64),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, 0),  # the call's number
        (JUMP_AT_LEAST, count + 1, 0, X32_BIT),
        *((JUMP_EQUAL, count - i, 0, call) for i, call in enumerate(REFUSED_CALLS)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, NOT_PERMITTED),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)
