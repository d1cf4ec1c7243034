"""Passes over memory are time."""

from __future__ import annotations

import math

import pytest

from .conftest import RowsOfConcept, rows_of

NUMBERS = 1 << 26
MATRIX = 2 * NUMBERS  # bytes
SMS, CLOCK, LAUNCH, SPECIAL = 132, 1.98e9, 4.2e-6, 16  # of the h200-sxm's device file
DRAM = 4.8e12 * 0.896  # half of it writes


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("normalization")


def seconds(rows: dict[str, dict], kernel: str, by: str, columns: int) -> float:
    name = f"normalization/{kernel}/by:{by}/dtype:bf16/columns:{columns}"
    return rows[name]["real_time"] * 1e-6


@pytest.mark.parametrize(
    ("kernel", "columns", "passes"),
    [("softmax", 1024, 4), ("layer_norm", 8192, 4), ("rms_norm", 8192, 3)],
)
def test_a_kernel_a_look_costs_its_passes(
    rows: dict[str, dict], kernel: str, columns: int, passes: int
) -> None:
    ratio = seconds(rows, kernel, "kernels", columns) / seconds(rows, kernel, "registers", columns)
    assert ratio == pytest.approx(passes / 2, rel=0.05)


@pytest.mark.parametrize(("by", "blocks_of_an_sm"), [("registers", 1), ("passes", 2)])
def test_a_long_row_is_worked_at_while_only_another_block_can_read(
    rows: dict[str, dict], by: str, blocks_of_an_sm: int
) -> None:
    # All threads of a block wait for the row's maximum and its sum. Its registers fill an SM.
    columns = 65536
    blocks = NUMBERS // columns
    exponentials = 2 * NUMBERS / (SPECIAL * SMS * CLOCK) * math.ceil(blocks / SMS) * SMS / blocks
    expected = 2 * MATRIX / DRAM + exponentials / blocks_of_an_sm
    # Sums, and what a row costs in L1 and shared memory, come on top; for `passes`, L2 too.
    most = 1.25 if by == "passes" else 1.08
    assert expected < seconds(rows, "softmax", by, columns) - LAUNCH < most * expected


def test_a_kernel_a_look_costs_its_passes_of_long_rows_too(rows: dict[str, dict]) -> None:
    # Two blocks of an SM: against the bytes alone, since registers cost long rows more than those.
    found = seconds(rows, "softmax", "kernels", 65536) - 3 * LAUNCH
    assert found == pytest.approx(4 * MATRIX / DRAM, rel=0.1)


def test_rows_in_l1_are_looked_at_for_nothing(rows: dict[str, dict]) -> None:
    for by in ("passes", "online"):
        again = seconds(rows, "softmax", by, 1024)
        assert again == pytest.approx(seconds(rows, "softmax", "registers", 1024), rel=0.1)


def test_the_law_speaks_of_what_it_assumes(rows: dict[str, dict]) -> None:
    for name, row in rows.items():
        by, columns = row["arguments"]["by"], row["arguments"]["columns"]
        outgrown = columns == 65536 and by in ("passes", "online")
        assert ("law" in row) == (not outgrown), name


def test_what_registers_do_not_hold_is_skipped() -> None:
    name = "normalization/softmax/by:registers/dtype:fp32/columns:65536"
    [row] = rows_of(
        "--device=model:h200-sxm", "--suite=full", f"--benchmark_filter=^{name}$"
    ).values()
    assert row["skip_reason"] == "a matrix row of 262144 bytes does not fit in a block's registers"
