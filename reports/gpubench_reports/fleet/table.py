"""What a fleet measured, as a table of GPUs and matrices of GPUs by rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# A Fleet's matrices by name. Columns of Parquet and timings of result files have the same names.
STATE = ("clock_hz", "temperature_c", "throttled")
MATRICES = ("seconds", *STATE)


@dataclass(frozen=True)
class Fleet:
    """The results of all GPUs. A value that nobody measured is NaN, a word that nobody said empty.

    gpus           one line per GPU, device and mode, numbered from 0: machine (the GPU's name,
                   NODE/gpuN), node, gpu, rack, slot, device, mode, driver, cuda, vbios, uuid, date
                   (YYYY-MM-DD), runs (how many runs its times come from), and what `unsaid` names
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

    def mode_of(self, line: int) -> str:
        """In words, the mode that a line of `gpus` is about; empty where all are of the same."""
        modes = self.gpus["mode"]
        return f"{modes.iloc[line] or 'unknown'} mode" if modes.nunique() > 1 else ""


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
