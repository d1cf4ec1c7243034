"""Modelled runs of the default suite that come with the package: what to compare a first run with.

In a checkout `modelled` is a link to results/modelled, where scripts/modelled.py writes them.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.reader import ResultFile, read

_FOLDER = Path(str(files("gpubench_reports").joinpath("modelled")))


def baselines() -> list[str]:
    """The names of the devices for which there is one, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


@cache
def baseline(device: str) -> ResultFile:
    """The modelled run of that device. Raises ReportError where there is none."""
    if device not in baselines():
        raise ReportError(device, f"is not modelled; there are {', '.join(baselines())}")
    return read(_FOLDER / f"{device}.json")


def baseline_of(result: ResultFile) -> ResultFile | None:
    """The modelled run of the device that `result` was measured on; None where it is modelled
    itself, or there is none."""
    context = result.context
    if context.modelled or context.device not in baselines():
        return None
    return baseline(context.device)
