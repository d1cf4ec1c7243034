"""Runs gpubench and the others in turns, so that no one has the cool GPU to himself."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import ensure_directory, reason, require_folder, write_atomically
from gpubench_reports.common.plain_text import clean
from gpubench_reports.comparisons.peers.programs import PEERS, Peer
from gpubench_reports.comparisons.peers.questions import WHATS, What
from gpubench_reports.results.checking import number_of, parse
from gpubench_reports.results.importers import convert, to_bytes
from gpubench_reports.results.reader import read

_LONGEST = 1e6  # [s], more than anybody waits


@dataclass(frozen=True)
class Settings:
    program: Path  # gpubench
    out: Path
    sources: Path | None = None
    python: str = "python3"  # that has PyTorch
    nvcc: str = "nvcc"
    device: str = ""  # as gpubench calls it
    runs: int = 5
    seconds: float = 540  # after which no further run is begun


def run_all(by: Settings) -> dict[str, str]:
    """Runs everything that can be run, into `by.out`: NAME-RUN.json, result files, and
    seconds.json, the seconds that each took. What is there already is not run again. Returns what
    was not run, and why. Raises ReportError: `by` names what is not there or cannot be."""
    check(by)
    by = replace(by, program=_found(by.program))
    ensure_directory(by.out)
    began = time.monotonic()
    skipped: dict[str, str] = {}
    commands: dict[str, tuple[Peer | None, list[str]]] = {}
    arch, gpus = _gpus(skipped)
    for what in WHATS:
        if what.ours and not (gpus < 2 and "ranks:2" in what.ours):
            commands[name_of_ours(what)] = (
                None,
                [
                    str(by.program),
                    "--device=cuda",
                    "--suite=full",
                    "--predict=off",
                    f"--benchmark_filter={what.ours}",
                    "--benchmark_out={out}",
                ],
            )
    for peer in PEERS:
        why = "needs two GPUs" if gpus < peer.gpus else _prepare(peer, by, arch)
        if why:
            skipped[peer.name] = why
        else:
            commands[peer.name] = (peer, [_filled(word, peer, by, arch) for word in peer.run])
    took: dict[str, float] = read_seconds(by.out)
    for run in range(1, by.runs + 1):
        for name, (whose, command) in commands.items():
            key = f"{name}-{run}"
            if key in took or name in skipped:
                continue
            left = by.seconds - (time.monotonic() - began)
            if left <= 0:
                skipped.setdefault(
                    "time",
                    f"the stage's time was up before run {run} of {name}; "
                    "run it again for the rest",
                )
                return skipped
            start = time.monotonic()
            if why := _run_once(whose, command, by, key, left):
                skipped[name] = why
                continue
            took[key] = time.monotonic() - start
            write_atomically(by.out / "seconds.json", json.dumps(took, indent=1).encode())
    return skipped


def check(by: Settings) -> None:
    """Raises ReportError: a number or a folder of `by` cannot be."""
    if by.runs < 1:
        raise ReportError(f"--runs {by.runs}", "takes a whole number from 1")
    if not 0 <= by.seconds <= _LONGEST:
        raise ReportError(f"--seconds {by.seconds:g}", f"takes 0 to {_LONGEST:.0f}")
    if by.sources is not None:
        require_folder(by.sources)
    if by.out.exists():
        require_folder(by.out)


def _found(program: Path) -> Path:
    # A Path has lost the "./" that tells a file here from a program in PATH.
    found = shutil.which(program.absolute()) or shutil.which(program)
    if found is None:
        known = program.exists()
        raise ReportError(program, "is no program to run" if known else "no such program")
    return Path(found)


def name_of_ours(what: What) -> str:
    return "gpubench-" + re.sub(r"[^a-z0-9]+", "-", what.name.lower())


def _gpus(skipped: dict[str, str]) -> tuple[str, int]:
    """The first GPU's architecture, such as 90, and how many there are."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        skipped["sources"] = "nvidia-smi does not say what GPU this is"
        return "", 1
    capabilities = done.stdout.split()
    return capabilities[0].replace(".", "") if capabilities else "", len(capabilities)


def _filled(word: str, peer: Peer, by: Settings, arch: str) -> str:
    return (
        word.replace("{source}", str((by.sources or Path()) / peer.name))
        .replace("{build}", str(by.out / "build" / peer.name))
        .replace("{nvcc}", by.nvcc)
        .replace("{arch}", arch)
        .replace("{python}", by.python)
    )


def _prepare(peer: Peer, by: Settings, arch: str) -> str:
    """Builds it; "" or why it cannot be run."""
    if not peer.build:
        if shutil.which(by.python) is None:
            return f"there is no {by.python}"
        asked = [by.python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]
        done = _quietly(asked, 120)
        return f"{by.python} has no PyTorch that sees a GPU" if done else ""
    if by.sources is None:
        return "no folder of sources was given"
    if not (by.sources / peer.name).is_dir():
        return f"{by.sources} holds no {peer.name}"
    if not arch:
        return "not built: which GPU this is is not known"
    (by.out / "build" / peer.name).mkdir(parents=True, exist_ok=True)
    for command in peer.build:
        if why := _quietly([_filled(word, peer, by, arch) for word in command], 300):
            return f"does not build: {why}"
    return ""


def _quietly(command: Sequence[str], seconds: float, printed: Path | None = None) -> str:
    """Runs a command, with what it prints in a file if one is named; "" or its last words."""
    environment = os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} took longer than {seconds:.0f} s"
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if printed is not None:
        write_atomically(printed, done.stdout.encode())
    if done.returncode == 0:
        return ""
    words = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    cause = next((line for line in words if "error" in line.lower()), words[-1] if words else "")
    return f"exit code {done.returncode}: {clean(cause) or 'no word'}"


def _run_once(peer: Peer | None, command: list[str], by: Settings, key: str, seconds: float) -> str:
    """One run, its result file as KEY.json; "" or why there is none."""
    result = by.out / f"{key}.json"
    raw = by.out / f"{key}.raw.{peer.suffix}" if peer and peer.program else result
    filled = [word.replace("{out}", str(raw)) for word in command]
    try:
        raw.unlink(missing_ok=True)  # of a run that failed: it would pass for this one's
    except OSError as error:
        return f"{raw}: {reason(error)}"
    if why := _quietly(filled, seconds, raw if peer and peer.prints else None):
        return why
    if not raw.exists():
        return f"{command[0]} ended well, but wrote no {raw.name}"
    try:
        if peer and peer.program:
            write_atomically(result, to_bytes(convert(raw, peer.program, by.device)))
        read(result)
    except ReportError as error:
        return str(error)
    return ""


def read_seconds(folder: Path) -> dict[str, float]:
    try:
        found = parse(folder / "seconds.json")
    except ReportError:
        return {}
    known = found.items() if isinstance(found, dict) else ()
    return {key: float(took) for key, took in known if _is_time(took)}


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and number_of(value) >= 0
