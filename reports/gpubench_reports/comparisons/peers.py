"""Other programs in the same hour on the same GPU: what they find over what we find.

Every program is run several times, in turns with ours, so that no one has the cool GPU to himself.
Sources are the user's: a folder that holds BabelStream, gpu-benches, mixbench, nvbandwidth, nvbench
and nccl-tests as their repositories are. Nothing is downloaded.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import ensure_directory, reason, require_folder, write_atomically
from gpubench_reports.results.importers import convert, to_bytes
from gpubench_reports.results.reader import ResultFile, clean, read

# The half-width of an interval, over its median, for which seconds are told.
WIDTH = 0.005
_LONGEST = 1e6  # [s], more than anybody waits
_RATE, _FLOPS, _BUS = "useful_bytes_per_second", "flops_per_second", "bus_bytes_per_second"


@dataclass(frozen=True)
class Peer:
    """A program. In its commands {source}, {build}, {nvcc}, {arch} (90, of sm_90) and {out} stand
    for what they say; its results go to {out}, or are what it prints where `prints`. `program`:
    as importers.py knows it; "" where it writes a result file."""

    name: str
    run: tuple[str, ...]
    program: str = ""
    build: tuple[tuple[str, ...], ...] = ()
    suffix: str = "json"
    prints: bool = False
    gpus: int = 1


_CMAKE = (
    "cmake",
    "-S",
    "{source}",
    "-B",
    "{build}",
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_CUDA_COMPILER={nvcc}",
    "-DCMAKE_CUDA_ARCHITECTURES={arch}",
)
_MAKE = ("cmake", "--build", "{build}", "--parallel")
PEERS = (
    Peer("pytorch", ("{python}", str(Path(__file__).with_name("torch_peer.py")), "{out}")),
    Peer(
        "BabelStream",
        ("{build}/cuda-stream", "--csv"),
        "babelstream",
        ((*_CMAKE, "-DMODEL=cuda", "-DCUDA_ARCH=sm_{arch}"), _MAKE),
        "csv",
        True,
    ),
    Peer(
        "gpu-benches",
        ("{build}/cuda-stream",),
        "gpu-benches",
        (
            (
                "{nvcc}",
                "-O3",
                "-std=c++17",
                "-arch=sm_{arch}",
                "-Xcompiler=-fopenmp",
                "{source}/gpu-stream/main.cu",
                "-o",
                "{build}/cuda-stream",
            ),
        ),
        "txt",
        True,
    ),
    Peer(
        "mixbench",
        ("{build}/mixbench-cuda",),
        "mixbench",
        (tuple(word.replace("{source}", "{source}/mixbench-cuda") for word in _CMAKE), _MAKE),
        "txt",
        True,
    ),
    Peer(
        "nvbandwidth",
        (
            "{build}/nvbandwidth",
            "--json",
            "--testcase",
            "host_to_device_memcpy_ce",
            "device_to_host_memcpy_ce",
        ),
        "nvbandwidth",
        (_CMAKE, _MAKE),
        "json",
        True,
    ),
    Peer(
        "nvbench",
        ("{build}/bin/nvbench.example.cpp17.throughput", "--json", "{out}"),
        "nvbench",
        (
            (*_CMAKE, "-DNVBench_ENABLE_EXAMPLES=ON"),
            (*_MAKE, "--target", "nvbench.example.cpp17.throughput"),
        ),
    ),
    Peer(
        "nccl-tests",
        ("{source}/build/all_reduce_perf", "-b", "512M", "-e", "512M", "-g", "2"),
        "nccl-tests",
        (("make", "-C", "{source}", "-j"),),
        "txt",
        True,
        2,
    ),
)


@dataclass(frozen=True)
class What:
    """A question that several programs answer: the figure (the best of the rows that match), our
    rows, and the rows of any other program."""

    name: str
    figure: str
    ours: str
    theirs: str
    note: str = ""

    @property
    def unit(self) -> str:
        return "FLOP/s" if self.figure == _FLOPS else "B/s"


_BEST = r"dtype:fp(32|64)/bytes:16/unroll:(4|8)$"
_ATTENTION = r"^attention/tiled/seq:16384/head_dim:128/causal:0$"
WHATS = (
    What(
        "copy",
        _RATE,
        rf"^stream/copy/{_BEST}",
        r"^(stream/copy/|pytorch/copy/|nvbench/throughput)",
        "bytes read and written; nvbench copies 64 MiB, which L2 holds in part",
    ),
    What("triad", _RATE, rf"^stream/triad/{_BEST}", r"^stream/triad/"),
    What("add", _RATE, rf"^stream/add/{_BEST}", r"^stream/add/"),
    What("scale", _RATE, rf"^stream/scale/{_BEST}", r"^stream/scale/"),
    What("dot", _RATE, rf"^stream/dot/{_BEST}", r"^stream/dot/"),
    What("read", _RATE, rf"^stream/read/{_BEST}", r"^stream/read/"),
    What("write", _RATE, rf"^stream/write/{_BEST}", r"^stream/write/"),
    What(
        "host to device",
        _RATE,
        r"^transfer/h2d/memory:pinned/size:(16777216|[0-9]{9,})$",
        r"^nvbandwidth/host_to_device_memcpy_ce/",
    ),
    What(
        "device to host",
        _RATE,
        r"^transfer/d2h/memory:pinned/size:(16777216|[0-9]{9,})$",
        r"^nvbandwidth/device_to_host_memcpy_ce/",
    ),
    What("fp32", _FLOPS, r"^compute_peak/fma/dtype:fp32", r"^roofline/mixbench/dtype:fp32/"),
    What("fp64", _FLOPS, r"^compute_peak/fma/dtype:fp64", r"^roofline/mixbench/dtype:fp64/"),
    What(
        "matmul bf16",
        _FLOPS,
        r"^gemm_ladder/library/dtype:bf16/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:bf16/",
        "ours: the fastest of cuBLASLt's first 16 algorithms; random data both",
    ),
    What(
        "matmul bf16, own kernel",
        _FLOPS,
        r"^gemm_ladder/wgmma_tma/.*/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:bf16/",
        "ours: wgmma and TMA; random data both",
    ),
    What(
        "matmul fp8",
        _FLOPS,
        r"^gemm_ladder/library/dtype:fp8/n:(4096|8192|16384)$",
        r"^pytorch/matmul/dtype:fp8/",
        "ours: the fastest of cuBLASLt's first 16 algorithms; random data both",
    ),
    What(
        "attention",
        _FLOPS,
        _ATTENTION,
        r"^pytorch/attention/",
        "theirs: the best of PyTorch's paths; 16 heads, random data",
    ),
    What(
        "attention, memory-efficient",
        _FLOPS,
        _ATTENTION,
        r"^pytorch/attention/path:efficient_attention/",
    ),
    What(
        "all-reduce, 2 GPUs",
        _BUS,
        r"^all_reduce/all_reduce/.*/ranks:2/size:536870912$",
        r"^all_reduce/all_reduce/.*/ranks:2/",
    ),
)


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


@dataclass(frozen=True)
class Answer:
    """What one program found: the median of its runs, the share of it that their range is wide to
    either side (of 5 runs, a 94 % interval), and the seconds that it needs for WIDTH: those that it
    took, times the square of width / WIDTH."""

    program: str
    value: float
    width: float
    seconds: float
    runs: int


@dataclass(frozen=True)
class Comparison:
    what: What
    ours: Answer | None
    theirs: Answer

    @property
    def ratio(self) -> float | None:
        return self.ours.value / self.theirs.value if self.ours else None


# --- running --------------------------------------------------------------------------------------


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
            commands[_ours(what)] = (
                None,
                [
                    str(by.program),
                    "--device=cuda",
                    "--suite=full",
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
    took: dict[str, float] = _seconds(by.out)
    for run in range(1, by.runs + 1):
        for name, (peer, command) in commands.items():
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
            if why := _run_once(peer, command, by, key, left):
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


def _ours(what: What) -> str:
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


def _seconds(folder: Path) -> dict[str, float]:
    try:
        found = json.loads((folder / "seconds.json").read_text())
    except (OSError, ValueError):
        return {}
    known = found.items() if isinstance(found, dict) else ()
    return {key: took for key, took in known if isinstance(took, int | float)}


# --- comparing ------------------------------------------------------------------------------------


def compare(folder: Path) -> list[Comparison]:
    """Of the runs in `folder` every program's answers beside ours. Raises ReportError: none."""
    require_folder(folder)
    took = _seconds(folder)
    if not took:
        raise ReportError(folder, "holds no runs of other programs (seconds.json)")
    runs: dict[str, list[tuple[ResultFile, float]]] = {}
    for key, seconds in took.items():
        runs.setdefault(key.rpartition("-")[0], []).append((read(folder / f"{key}.json"), seconds))
    found = []
    for what in WHATS:
        own = runs.get(_ours(what), [])
        ours = _answer("gpubench", what.figure, what.ours, own) if what.ours else None
        for peer in PEERS:
            theirs = _answer(peer.name, what.figure, what.theirs, runs.get(peer.name, []))
            if theirs:
                found.append(Comparison(what, ours, theirs))
    return found


def _answer(
    program: str, figure: str, rows: str, runs: Sequence[tuple[ResultFile, float]]
) -> Answer | None:
    values, seconds = [], 0.0
    for result, took in runs:
        found = zip(result.ok["name"], result.ok["raw"], strict=True)
        best = max(
            (_figure(raw, figure) for name, raw in found if re.search(rows, name)), default=math.nan
        )
        if best > 0:
            values.append(best)
            seconds += took
    if not values:
        return None
    middle = statistics.median(values)
    width = (max(values) - min(values)) / 2 / middle if len(values) > 1 else math.nan
    return Answer(program, middle, width, seconds * (width / WIDTH) ** 2, len(values))


def _figure(raw: dict[str, Any], figure: str) -> float:
    value = raw.get(figure)
    return float(value) if isinstance(value, int | float) else math.nan
