"""How much longer each row takes under a fault, by the factor of the fault."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from gpubench_reports.results.device_files import device_figure
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.parts import Shares, factors_of
from gpubench_reports.rules.verdicts.rulebook import number_of

Shape = Callable[[float], np.ndarray]
Named = Iterator[tuple[dict[str, str], Shape]]

# What libraries or the driver run there is not compiled with the suite.
_OF_LIBRARIES = ("transfer", "all_reduce", "tile_alignment", "launch_overhead", "host_sync")
_COMPUTE = ("fp32", "fp64", "fp16x2", "bf16x2", "int32", "sfu", "issue", "shared", "l1")
_PIECES = 20  # of a run, at whose ends one may begin or end to be slow
_CONCEPTS_OF_PIECE = 3  # of fewer, they and not the time may be what its rows have in common


def of_parts(shares: Shares, parts: Sequence[str]) -> Shape:
    return lambda factor: shares.slowdown(factors_of(dict.fromkeys(parts, factor)))


def _of_rows(chosen: np.ndarray) -> Shape:
    return lambda factor: np.where(chosen, factor, 1.0)


def _l2_capacity(rows: pd.DataFrame, result: ResultFile) -> Named:
    """Rows whose data fit into L2, about, but not into half of it."""
    l2 = device_figure(result.context.device, "l2_bytes")
    touched = rows["arguments"].map(lambda a: number_of(a.get("window", a.get("size"))))
    swept = (rows["concept"] == "memory_hierarchy") | (rows["kernel"] == "gather")
    chosen = (swept & (touched > 0.5 * l2) & (touched < 1.1 * l2)).to_numpy()
    if chosen.sum() > 1:
        yield {}, _of_rows(chosen)


def _gpu(rows: pd.DataFrame, result: ResultFile) -> Named:
    """For each GPU of several, the rows between it and others."""
    ends = [
        {number_of(arguments.get(end)) for end in ("from", "to", "gpu", "device")}
        for arguments in rows["arguments"]
    ]
    known = sorted({gpu for one in ends for gpu in one if gpu >= 0})
    if len(known) < 3:  # of two, nobody knows which
        return
    for gpu in known:
        chosen = np.array([gpu in one for one in ends])
        yield {"gpu": f"{gpu:.0f}"}, _of_rows(chosen)


def _kernel(rows: pd.DataFrame, result: ResultFile) -> Named:
    for (concept, kernel), chosen in rows.groupby(["concept", "kernel"]).groups.items():
        if len(chosen) > 1:
            yield {"kernel": f"{concept}/{kernel}"}, _of_rows(rows.index.isin(chosen))


def _own_code(rows: pd.DataFrame, result: ResultFile) -> Named:
    own = ~rows["concept"].isin(_OF_LIBRARIES) & ~rows["kernel"].isin(["library", "cublaslt"])
    for labels in (_COMPUTE, (*_COMPUTE, "latency", "tensor")):
        yield {}, _of_rows((own & rows["label"].isin(labels)).to_numpy())


def _spills(rows: pd.DataFrame, result: ResultFile) -> Named:
    spilled = rows["raw"].map(lambda raw: number_of(raw.get("local_bytes"))) > 0
    if spilled.any() and not spilled.all():
        yield {}, _of_rows(spilled.to_numpy())


def _early(rows: pd.DataFrame, result: ResultFile) -> Named:
    for piece in range(1, _PIECES // 2):
        yield from _piece(rows, np.arange(len(rows)) < len(rows) * piece / _PIECES)


def _late(rows: pd.DataFrame, result: ResultFile) -> Named:
    for piece in range(_PIECES // 2, _PIECES):
        yield from _piece(rows, np.arange(len(rows)) >= len(rows) * piece / _PIECES)


def _piece(rows: pd.DataFrame, chosen: np.ndarray) -> Named:
    if rows["concept"][chosen].nunique() >= _CONCEPTS_OF_PIECE:
        yield {}, _of_rows(chosen)


def _all_rows(rows: pd.DataFrame, result: ResultFile) -> Named:
    yield {}, lambda factor: np.full(len(rows), factor)


BY_KIND: dict[str, Callable[[pd.DataFrame, ResultFile], Named]] = {
    "l2_capacity": _l2_capacity,
    "gpu": _gpu,
    "kernel": _kernel,
    "own_code": _own_code,
    "spills": _spills,
    "early": _early,
    "late": _late,
    "all_rows": _all_rows,
}
