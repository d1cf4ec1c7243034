"""What a fleet measured, as a table of GPUs and matrices of GPUs by rows."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# A Fleet's matrices by name. Columns of Parquet and timings of result files have the same names.
STATE = ("clock_hz", "temperature_c", "throttled")
MATRICES = ("seconds", *STATE)
# The program that ran, as far as the files say. GPUs that different programs measured are no peers.
PROGRAM = ("git_commit", "compiler", "flags")


@dataclass(frozen=True)
class Fleet:
    """The results of all GPUs. A value that nobody measured is NaN, a word that nobody said empty.

    gpus           one line per GPU, device and mode, numbered from 0: machine (the GPU's name,
                   NODE/gpuN), node, gpu, rack, slot, device, mode, git_commit, compiler, flags,
                   driver, cuda, vbios, uuid, date (YYYY-MM-DD), runs (how many runs its times come
                   from), and what `unsaid` names
    names          the rows' names, concept/kernel/arguments
    seconds        [gpu, row] the time; of several runs, the shortest
    clock_hz, temperature_c, throttled    [gpu, row] the state of the GPU meanwhile
    absent         (machine, why) of GPUs that should have a result and have none
    modelled       whether the results are modelled; they are all of one kind
    """

    gpus: pd.DataFrame
    names: list[str]
    seconds: np.ndarray
    clock_hz: np.ndarray
    temperature_c: np.ndarray
    throttled: np.ndarray
    absent: tuple[tuple[str, str], ...]
    modelled: bool

    @property
    def size(self) -> int:
        """How many GPUs it has: one that was measured hot and cold has two lines."""
        return int(self.gpus["machine"].nunique())

    def run_of(self, line: int) -> str:
        """In words, the mode and the program that a line of `gpus` is about, as far as they are not
        the same in all."""
        said = [
            (name, str(self.gpus[name].iloc[line]) or "unknown")
            for name in ("mode", *PROGRAM)
            if self.gpus[name].nunique() > 1
        ]
        words = {"mode": "{} mode", "git_commit": "commit {}"}
        return ", ".join(
            words.get(name, f"{name} {{}}").format(_short(value)) for name, value in said
        )


def _short(word: str) -> str:
    """A commit's name as people write it; any other word as it is."""
    return re.sub(r"^([0-9a-f]{10})[0-9a-f]{30}\b", r"\1", word)


def unsaid(gpus: int) -> dict[str, list[Any]]:
    """What only result files say of a GPU, as columns of `gpus` GPUs of which nobody said it:

    failed       a line "name: why" per row that failed
    lost         why each row without a time has none, by its name
    interrupted  that every run of it was interrupted; empty where one was not
    caveats      what to know of the GPU before its times
    state        the device_state of its result file
    """
    return {
        "failed": [[] for _ in range(gpus)],
        "lost": [{} for _ in range(gpus)],
        "interrupted": [""] * gpus,
        "caveats": [() for _ in range(gpus)],
        "state": [{} for _ in range(gpus)],
    }


def node_and_gpu(machine: str) -> tuple[str, str]:
    """The node and the GPU's number of a machine's name: NODE/gpuN. A name of another form is that
    of a node, and the number is empty."""
    node, separator, number = machine.rpartition("/gpu")
    return (node, number) if separator and number.isdigit() else (machine, "")


def machine_name(node: str, gpu: str) -> str:
    """The name of a node's GPU; of the whole node where `gpu` is empty."""
    return f"{node}/gpu{gpu}" if gpu else node
