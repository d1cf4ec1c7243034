"""Where a lab runs: on this machine's GPU, or on a model device."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .build import has
from .course import Lab, LabError

MODEL = "model:h200-sxm"
CUDA = "-cuda"  # the kind of program that runs on a GPU


def is_model(device: str) -> bool:
    return device.startswith("model:")


def gpu_count() -> int:
    """GPUs that the driver offers; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def device_for(lab: Lab, build: Path, asked: str) -> str:
    """What `asked` (auto, cuda or model:NAME) means for this lab here. LabError."""
    if is_model(asked):
        return asked
    if asked not in ("auto", "cuda"):
        raise LabError(f"--device={asked}: there are auto, cuda and model:NAME")
    gpus = gpu_count()
    why_not = ""
    if gpus < lab.gpus:
        there = "there is none" if gpus == 0 else f"there are {gpus}"
        why_not = f"lab {lab.number} needs {lab.gpus} GPU{'s' * (lab.gpus > 1)}, and {there}"
    elif not has(lab, build, CUDA):
        why_not = f"there is a GPU, but {build} was configured without nvcc"
    if not why_not:
        return "cuda"
    if asked == "cuda":
        raise LabError(f"--device=cuda: {why_not}")
    return MODEL
