"""The other programs: how each is built and run."""

from dataclasses import dataclass
from pathlib import Path


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
