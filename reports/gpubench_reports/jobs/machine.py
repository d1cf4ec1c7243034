"""What a result file says of the GPU that a job runs on: how fast its rows are."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.collectives import Collectives, collectives_of
from gpubench_reports.results.checking import number_of
from gpubench_reports.results.clock import reference_clock
from gpubench_reports.results.device_files import read_device, shipped_devices
from gpubench_reports.results.doubts import Doubts, doubtful, doubts_of
from gpubench_reports.results.reader import ResultFile

# The share of its own rate that a product or an attention kernel reaches within a long training:
# power and heat hold the clock down, and the library chooses an algorithm without trying any.
# Fitted on the trainings that are marked so: docs/jobs.md.
SUSTAINED = 0.77
PEAK = "tensor_bf16_flops_per_second"
_COPIED = "useful_bytes_per_second"
# How many times what the data sheet states no GPU reaches, whatever its clock.
_IMPOSSIBLE = 2.0

_Row = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """One GPU, its node and its network."""

    peak: float  # FLOP/s, by the data sheet
    memory_bytes: float
    products: tuple[np.ndarray, np.ndarray]  # logarithms of FLOPs, ascending, and of FLOP/s
    attention: dict[tuple[str, float], tuple[np.ndarray, np.ndarray]]  # by kernel and head: FLOP/s
    bandwidth: float  # B/s
    collectives: Collectives
    network: float | None  # B/s of each GPU, by the device file
    rows: int = 0  # that all this rests on
    doubts: Doubts = field(default_factory=dict)  # of these rows

    def with_network(self, rate: float) -> "Machine":
        """The same GPU on a network from which each GPU gets `rate` [B/s]."""
        slower = self.network / rate if self.network else 1.0
        return replace(self, collectives=replace(self.collectives, slower=slower))

    def product_seconds(self, flops: float, moved: float) -> float:
        """A product of so many FLOPs that moves at least so many bytes."""
        sizes, rates = self.products
        rate = float(np.exp(np.interp(np.log(flops), sizes, rates)))
        return max(flops / (SUSTAINED * rate), moved / self.bandwidth)

    def attention_rate(self, kernel: str, head_size: float, sequence: int) -> float:
        """FLOP/s of causal attention: of the rows of this kernel (tiled or standard), those whose
        heads are nearest in size."""
        heads = [head for name, head in self.attention if name == kernel]
        nearest = min(heads, key=lambda head: abs(head - head_size))
        lengths, rates = self.attention[kernel, nearest]
        return SUSTAINED * float(np.interp(sequence, lengths, rates))


def machine_of(result: ResultFile) -> Machine:
    """Raises ReportError, which names the rows that the file lacks."""
    name = result.context.device
    if name not in shipped_devices():
        raise ReportError(result.path, f"a job needs a device file, and none is called '{name}'")
    if result.context.own_device_file:
        raise ReportError(
            result.path,
            f"was modelled with a custom device file called '{name}': a job would "
            "take the memory and the peak of the shipped one",
        )
    device = read_device(name)
    memory, peak = device.value("dram_bytes"), device.value(PEAK)
    if memory is None or peak is None:
        lacking = PEAK if peak is None else "dram_bytes"
        raise ReportError(result.path, f"the file of device {name} has no {lacking}")
    if result.context.mode == "hot":
        raise ReportError(result.path, "was measured with hot caches: a job needs --mode=cold")
    stated = reference_clock(result)
    # The last of rows with the same settings counts: one without doubts, if there is any.
    rows = sorted(result.timed, key=lambda row: not doubts_of(row, stated))
    products = _products(result, rows)
    attention = _attention(result, rows)
    copy = _fastest_copy(result, rows, stated)
    collectives = collectives_of(rows, int(device.value("node_gpus") or 1))
    of_attention = [row for by_length in attention.values() for row in by_length.values()]
    of_arithmetic = [*products.values(), *of_attention]
    _require_possible(result, of_arithmetic, "flops_per_second", peak)
    _require_possible(result, [copy], _COPIED, device.value("dram_bytes_per_second"))
    used = [*of_arithmetic, copy, *collectives.rows]
    sizes, rates = _rates(products)
    return Machine(
        peak=peak,
        memory_bytes=memory,
        products=(np.log(sizes), np.log(rates)),
        attention={key: _rates(by_length) for key, by_length in attention.items()},
        bandwidth=copy[_COPIED],
        collectives=collectives,
        network=device.value("network_bytes_per_second"),
        rows=len(used),
        doubts=doubtful(result, used),
    )


def _products(result: ResultFile, rows: list[_Row]) -> dict[float, _Row]:
    """The library's square products in bf16, by FLOPs."""
    found: dict[float, _Row] = {}
    for row in rows:
        if (row["concept"], row["kernel"]) != ("gemm_ladder", "library"):
            continue
        rate = row["flops_per_second"]
        if row["arguments"].get("dtype") == "bf16" and rate > 0:
            found[rate * row["seconds"]] = row
    if len(found) < 2:
        raise _missing(result, "gemm_ladder", "two or more rows of kernel library in bf16")
    return found


def _attention(result: ResultFile, rows: list[_Row]) -> dict[tuple[str, float], dict[float, _Row]]:
    """By kernel and size of a head, and by length."""
    found: dict[tuple[str, float], dict[float, _Row]] = {}
    for row in rows:
        if row["concept"] != "attention" or not row["flops_per_second"] > 0:
            continue
        length, head, causal = (
            number_of(row["arguments"].get(name)) for name in ("seq", "head_dim", "causal")
        )
        if causal == 1 and length > 0 and head > 0:
            found.setdefault((row["kernel"], head), {})[length] = row
    for kernel in ("tiled", "standard"):
        if not any(name == kernel for name, _ in found):
            raise _missing(result, "attention", f"a causal row of kernel {kernel}")
    return found


def _rates(rows: dict[float, _Row]) -> tuple[np.ndarray, np.ndarray]:
    """The keys, ascending, and the FLOP/s of their rows."""
    keys = sorted(rows)
    return np.array(keys), np.array([rows[key]["flops_per_second"] for key in keys])


def _fastest_copy(result: ResultFile, rows: list[_Row], stated_hz: float) -> _Row:
    """One without doubts, if there is any."""
    found = [
        row
        for row in rows
        if row["concept"] == "stream" and row["kernel"] == "copy"
        if row[_COPIED] > 0
    ]
    if not found:
        raise _missing(result, "stream", "a row of kernel copy")
    sound = [row for row in found if not doubts_of(row, stated_hz)]
    return max(sound or found, key=lambda row: float(row[_COPIED]))


def _require_possible(
    result: ResultFile, rows: list[_Row], counter: str, stated: float | None
) -> None:
    """Raises ReportError for a rate that is not one of this device: a forecast would hide it."""
    for row in rows:
        if stated is not None and row[counter] > _IMPOSSIBLE * stated:
            raise ReportError(
                result.path,
                f"{row['name']}: '{counter}' is {row[counter] / stated:.3g} times what the data "
                f"sheet of {result.context.device} states",
            )


def _missing(result: ResultFile, concept: str, what: str) -> ReportError:
    return ReportError(result.path, f"a job needs rows of the concept {concept}: {what}")
