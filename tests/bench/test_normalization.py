"""Passes over memory are time."""

from __future__ import annotations

import pytest

from .conftest import RowsOfConcept, rows_of

MATRIX = 2 * (1 << 26)  # bytes


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("normalization")


def seconds(rows: dict[str, dict], kernel: str, by: str, columns: int) -> float:
    name = f"normalization/{kernel}/by:{by}/dtype:bf16/columns:{columns}"
    return rows[name]["real_time"] * 1e-6


@pytest.mark.parametrize(
    ("kernel", "columns", "passes"),
    [("softmax", 1024, 4), ("softmax", 65536, 4), ("layer_norm", 8192, 4), ("rms_norm", 8192, 3)],
)
def test_a_kernel_a_look_costs_its_passes(
    rows: dict[str, dict], kernel: str, columns: int, passes: int
) -> None:
    ratio = seconds(rows, kernel, "kernels", columns) / seconds(rows, kernel, "registers", columns)
    assert ratio == pytest.approx(passes / 2, rel=0.05)


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
    assert row["skip_reason"] == "the registers of a block do not hold a row of 262144 bytes"
