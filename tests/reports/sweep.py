"""Result files of a node's GPUs, as a fleet's sweep leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gpubench_reports.results.baselines import baseline

from .factory import make_document, make_row

ROWS = list(baseline("h100-sxm").ok.iloc[::20]["name"])


def write_sweep(folder: Path, slow: dict[int, float] | None = None, gpus: int = 8, **context):
    """A result file per GPU of the node `n1`, and how many times as long some of them take."""
    rng = np.random.default_rng(1)
    for gpu in range(gpus):
        factor = (slow or {}).get(gpu, 1.0)
        rows = [make_row(name, 1e-3 * factor * np.exp(0.002 * rng.normal())) for name in ROWS]
        known = {"device": "h100-sxm", "machine": f"n1/gpu{gpu}"} | context
        document = make_document(rows, **known)
        folder.mkdir(exist_ok=True)
        (folder / f"n1-gpu{gpu}.json").write_text(json.dumps(document))
    return folder
