"""What an importer makes: rows as result files have them, of figures that a program states."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import is_in_range
from gpubench_reports.results.device_files import device_of_gpu
from gpubench_reports.results.quantities import BY_COLUMN

TYPES = {
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "bfloat16": "bf16",
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
}


@dataclass
class Imported:
    """What a file holds: rows as result files have them, and what is known of the device.

    A log may hold several runs of a program. They become one result file, so they must be of one
    device and of one version, and rows of one name of one setting.
    """

    path: Path
    program: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    title: str = ""
    version: str = ""
    context: dict[str, Any] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)  # each by the name that the file gives it
    _settings: dict[str, str] = field(default_factory=dict)

    def measured_on(self, *gpus: str) -> None:
        """Takes down the GPUs of a run that the file names. Raises ReportError if it named others
        before."""
        self.title = self._same("devices", self.title, " and ".join(gpus))
        self.gpus += filter(None, gpus)

    def require_device(self, device: str) -> None:
        """Raises ReportError if the file names a GPU that another shipped device file describes."""
        for gpu in self.gpus:
            # That a slice is not the whole GPU does not make it one of another kind.
            described = device_of_gpu(gpu.partition(" MIG ")[0])
            if described not in ("", device):
                raise ReportError(
                    self.path,
                    f"was measured on {gpu}, which gpubench calls {described}, not {clean(device)}",
                )

    def made_by(self, version: str) -> None:
        """Takes down the program's version. Raises ReportError if the file named another."""
        self.version = self._same("versions", self.version, version)

    def add(self, row: dict[str, Any], setting: str = "") -> None:
        """Adds a row; `setting` is what its time depends on and its name does not say. Raises
        ReportError if there is a row of its name with another one."""
        name = row["name"]
        known = self._settings.setdefault(name, setting)
        if known != setting:
            raise self._several(f"{name} twice, with {known or '?'} and with {setting or '?'}")
        self.rows.append(row)

    def _same(self, what: str, known: str, found: str) -> str:
        if known and found and known != found:
            raise self._several(f"runs of two {what}, {known} and {found}")
        return found or known

    def _several(self, what: str) -> ReportError:
        return ReportError(self.path, f"holds {what}: put each into a file of its own")


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, of which those of one name are repetitions of it."""
    counts = Counter(row["name"] for row in rows)
    index = Counter[str]()
    found = []
    for row in rows:
        name = row["name"]
        found.append(row | {"repetitions": counts[name], "repetition_index": index[name]})
        index[name] += 1
    return found


def row_of(
    concept: str,
    kernel: str,
    arguments: dict[str, Any],
    seconds: float,
    judged_by: str = "seconds",
    notes: tuple[str, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    """A row that took `seconds` (of which one that cannot be a time becomes the reason why the row
    is skipped) and is judged by one of its figures; `more` are counters in SI
    units, of which those below 0 or out of any range are left out, as are those of 0: the file had
    no digits for them."""
    name = "/".join(
        [part(concept), part(kernel), *(f"{part(k)}:{part(v)}" for k, v in arguments.items())]
    )
    known = {
        key: value
        for key, value in more.items()
        if isinstance(value, str) or (value > 0 and is_in_range(value))
    }
    said = [note for note in notes if note]
    headline = BY_COLUMN[judged_by if judged_by in known else "seconds"]
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 1,
        "real_time": seconds * 1e6,
        "cpu_time": seconds * 1e6,
        "time_unit": "us",
        "concept": concept,
        "kernel": kernel,
        "arguments": arguments,
        "headline": {
            "name": headline.column,
            "unit": headline.unit,
            "better": "higher" if headline.more_is_better else "lower",
        },
        **({"arithmetic_unit": "FLOP/s"} if "flops_per_second" in known else {}),
        **({"notes": said} if said else {}),
        **known,
    }


def part(value: object) -> str:
    """A value as a part of a row's name, in which slashes and colons have a meaning."""
    return re.sub(r"[/:\s]+", "_", clean(str(value))) or "_"


def lost(row: dict[str, Any], state: str, why: str) -> dict[str, Any]:
    timed = ("real_time", "cpu_time", "time_unit", "headline")
    kept = {key: value for key, value in row.items() if key not in timed}
    if state == "skipped":
        return kept | {"skipped": True, "skip_reason": why}
    return kept | {"error_occurred": True, "error_message": why}


def lines_of(path: Path) -> list[str]:
    try:
        return file_bytes(path).decode("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    except ValueError:
        raise ReportError(clean(str(path)), "cannot read: not a file name") from None


def whole_of(text: str) -> int | None:
    """A whole number of plain digits; None for anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None
