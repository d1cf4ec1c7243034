"""Little's law with tiles for loads."""

from __future__ import annotations

import pytest

from .conftest import rows_of

SMS, CLOCK = 132, 1.98e9  # of the h200-sxm's device file
LATENCY, FMA_LATENCY = 689, 4  # cycles
STEPS = 24
READ = 4.8e12 * 0.917  # bytes/s
BYTES = 1 << 28
LAUNCH = 2e-6


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    flags = ("--device=model:h200-sxm", "--suite=full")
    return rows_of(*flags, "--benchmark_filter=^async_copy/")


def expected_seconds(tile: int, ahead: int) -> float:
    """Of a run, with `ahead` tiles under way while one is computed."""
    compute = tile / 2048 * STEPS * 4  # one warp a scheduler, four chains of each of its threads
    turn = LATENCY + compute if ahead == 0 else max(compute, LATENCY / ahead)
    return max(BYTES / READ, BYTES / tile / SMS * turn / CLOCK) + LAUNCH


@pytest.mark.xfail(reason="expects the model before it queued loads and turned blocks over")
def test_time_follows_the_tiles_under_way(rows: dict[str, dict]) -> None:
    assert len(rows) > 30
    for row in rows.values():
        arguments = row["arguments"]
        expected = expected_seconds(arguments["tile"], arguments.get("stages", 1) - 1)
        # Blocks that do not divide evenly among the SMs, and the last tiles of each.
        assert row["model_seconds"] == pytest.approx(expected, rel=0.12), row["name"]
        assert row["resident_blocks"] == 1


@pytest.mark.xfail(reason="expects the model before it queued loads and turned blocks over")
def test_two_stages_hide_the_arithmetic_and_more_the_latency(rows: dict[str, dict]) -> None:
    def rate(name: str) -> float:
        return rows[f"async_copy/{name}"]["useful_bytes_per_second"]

    plain = rate("plain/tile:4096")
    two, four = (rate(f"cp_async/tile:4096/stages:{stages}") for stages in (2, 4))
    assert 1.2 * plain < two < 0.6 * four
    assert four == pytest.approx(READ, rel=0.1)
    assert rows["async_copy/cp_async/tile:4096/stages:2"]["label"] == "latency"
    assert rows["async_copy/cp_async/tile:4096/stages:4"]["label"] == "dram"


@pytest.mark.xfail(reason="expects the model before it queued loads and turned blocks over")
def test_who_copies_does_not_matter_to_the_law(rows: dict[str, dict]) -> None:
    for tile in (2048, 4096, 8192, 16384):
        for stages in (2, 3, 4):
            times = [
                rows[f"async_copy/{kernel}/tile:{tile}/stages:{stages}"]["model_seconds"]
                for kernel in ("cp_async", "bulk")
            ]
            assert max(times) == pytest.approx(min(times), rel=0.02), (tile, stages)


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("a100-80-sxm", "cp.async.bulk needs compute capability 9.0, this device has 8.0"),
        ("rtx-4090", "cp.async.bulk needs compute capability 9.0, this device has 8.9"),
    ],
)
def test_older_parts_say_what_they_lack(device: str, reason: str) -> None:
    rows = rows_of(f"--device=model:{device}", "--benchmark_filter=^async_copy/.*stages:2")
    for name, row in rows.items():
        if "/bulk/" in name:
            assert row["skip_reason"] == reason
        else:
            assert "skipped" not in row
