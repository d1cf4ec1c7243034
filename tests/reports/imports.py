"""Outputs of other programs, and the result files that they become."""

from pathlib import Path

from gpubench_reports.results import importers
from gpubench_reports.results.reader import read

SAMPLES = Path(__file__).parent.parent / "data" / "imports"
FILES = {
    "nccl-tests": "nccl-tests.txt",
    "babelstream": "babelstream.csv",
    "gpu-benches": "gpu-stream.txt",
    "mixbench": "mixbench.txt",
    "nvbandwidth": "nvbandwidth.json",
    "nvbench": "nvbench.json",
}


def imported(tmp_path, program, path=None, device="h100-sxm"):
    out = tmp_path / "out.json"
    source = path or SAMPLES / FILES[program]
    document = importers.convert(source, program, device)
    out.write_bytes(importers.to_bytes(document))
    return read(out)


def row(result, name):
    found = result.rows[result.rows["name"] == name]
    assert len(found) == 1, list(result.rows["name"])
    return found.iloc[0]
