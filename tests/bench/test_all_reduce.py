"""What gradients cost on the wire: bandwidths by their definitions, alpha-beta, ranks, overlap."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, RowsOfConcept, figures, rows_of, run

MIB = 1 << 20
WHOLE = "all_reduce/all_reduce/dtype:fp32/place:out"


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    return rows_of_concept("all_reduce")


@pytest.fixture(scope="module")
def more(rows: dict[str, dict]) -> dict[str, dict]:
    """The default suite's and, of the full one, further sizes, numbers of ranks and buckets."""
    sizes = "ranks:8/|ranks:(2|4|16|64)/size:(8|536870912)$"
    shares = (
        f"all_reduce/(reduce_scatter|all_gather)/dtype:fp32/place:out/ranks:64/size:{512 * MIB}$"
    )
    wanted = f"^({WHOLE}/({sizes})|all_reduce/overlap/|{shares})"
    return rows | rows_of("--device=model:h200-sxm", "--suite=full", f"--benchmark_filter={wanted}")


def seconds(row: dict) -> float:
    return row["real_time"] * 1e-6


def test_the_default_suite_is_short_and_every_row_runs(rows: dict[str, dict]) -> None:
    assert 15 <= len(rows) <= 22
    assert not [name for name, row in rows.items() if row.get("skipped")]


@pytest.mark.parametrize(
    ("kernel", "factor"),
    [
        ("all_reduce", lambda n: 2 * (n - 1) / n),
        ("two_step", lambda n: 2 * (n - 1) / n),
        ("reduce_scatter", lambda n: (n - 1) / n),
        ("all_gather", lambda n: (n - 1) / n),
        ("broadcast", lambda _: 1),
    ],
)
def test_bandwidths_are_what_they_are_defined_as(rows: dict[str, dict], kernel, factor) -> None:
    found = [row for row in rows.values() if row["kernel"] == kernel]
    assert len(found) >= 2
    for row in found:
        size, ranks = row["arguments"]["size"], row["arguments"]["ranks"]
        algorithm = row["algorithm_bytes_per_second"]
        assert algorithm == pytest.approx(size / seconds(row))
        assert row["useful_bytes_per_second"] == pytest.approx(algorithm)
        assert row["bus_bytes_per_second"] == pytest.approx(algorithm * factor(ranks))


def reached(size: int) -> float:
    """The part of the bandwidth that is left, as fitted in docs/model-accuracy.md."""
    return min(max(1 - 0.061 * math.log2(2**30 / size), 0.3), 1)


def test_time_is_latency_and_then_bytes(more: dict[str, dict]) -> None:
    """alpha from the smallest, beta from the largest: in between bandwidth is reached by and by,
    and no row takes much longer."""
    by_size = {
        row["arguments"]["size"]: seconds(row)
        for name, row in more.items()
        if name.startswith(f"{WHOLE}/ranks:8/")
    }
    alpha = by_size[min(by_size)]
    beta = (by_size[max(by_size)] - alpha) / max(by_size)
    for size, measured in by_size.items():
        assert measured > 0.99 * (alpha + beta * size), size
        assert 0.99 < measured / (alpha + beta * size / reached(size)) < 1.5, size
    ordered = [by_size[size] for size in sorted(by_size)]
    assert ordered == sorted(ordered)
    bandwidths = [size / by_size[size] for size in sorted(by_size)]
    assert bandwidths == sorted(bandwidths)


def test_latency_grows_with_the_ranks_and_bus_bandwidth_does_not_fall_within_a_node(
    more: dict[str, dict],
) -> None:
    small = [seconds(more[f"{WHOLE}/ranks:{n}/size:8"]) for n in (2, 4, 8, 16, 64)]
    assert all(before < after for before, after in itertools.pairwise(small))
    bus = {
        n: more[f"{WHOLE}/ranks:{n}/size:{512 * MIB}"]["bus_bytes_per_second"]
        for n in (2, 4, 8, 16, 64)
    }
    assert bus[4] >= 0.9 * bus[2]
    assert bus[8] >= 0.9 * bus[4]
    assert more[f"{WHOLE}/ranks:64/size:{512 * MIB}"]["label"] == "network"


def test_small_rows_have_results_and_large_ones_a_price(more: dict[str, dict]) -> None:
    assert more[f"{WHOLE}/ranks:8/size:2048"]["verified"] == "full"
    assert more[f"{WHOLE}/ranks:64/size:{512 * MIB}"]["verified"] == "operation"
    for shares in ("reduce_scatter", "all_gather"):
        row = more[f"all_reduce/{shares}/dtype:fp32/place:out/ranks:64/size:{512 * MIB}"]
        assert row["verified"] == "operation"
    two_step = {r["arguments"]["size"]: r for r in more.values() if r["kernel"] == "two_step"}
    assert two_step[2048]["verified"] == "full"
    assert two_step[512 * MIB]["verified"] == "sampled"


def test_no_wire_carries_more_than_it_can(rows: dict[str, dict]) -> None:
    """Own kernels have no switch that adds: their bus bandwidth stays below the link."""
    link = figures("h200-sxm")["nvlink_bytes_per_second"]
    for row in rows.values():
        if row["kernel"] in ("two_step", "all_gather", "reduce_scatter", "broadcast"):
            assert row["bus_bytes_per_second"] <= 1.005 * link, row["name"]


def test_of_buckets_behind_a_backward_pass_only_the_last_is_seen(more: dict[str, dict]) -> None:
    by_bucket = {
        r["arguments"]["bucket"] // MIB: r for r in more.values() if "exposed_seconds" in r
    }
    exposed = {bucket: row["exposed_seconds"] for bucket, row in by_bucket.items()}
    assert sorted(exposed) == [1, 4, 25, 100]
    # Too small: the wire falls behind on latency. Too large: the last one is the whole gradient.
    assert min(exposed, key=lambda bucket: exposed[bucket]) == 4
    assert exposed[100] > 3 * exposed[25]
    for row in by_bucket.values():
        assert seconds(row) == pytest.approx(row["compute_seconds"] + row["exposed_seconds"])


@pytest.fixture(scope="module")
def beside() -> dict[int, dict]:
    """By tokens: an all-reduce beside products of so many."""
    wanted = "--benchmark_filter=^all_reduce/beside_product/"
    found = rows_of("--device=model:h200-sxm", "--suite=full", wanted)
    return {row["arguments"]["m"]: row for row in found.values()}


def test_a_product_and_an_all_reduce_slow_each_other(beside: dict[int, dict]) -> None:
    assert sorted(beside) == [64, 512, 8192]
    for m, row in beside.items():
        assert row["product_slowdown"] > 1.08, m
        assert row["all_reduce_slowdown"] > 1.005, m
        assert abs(row["law_ratio"] - 1) <= row["law_tolerance"], m


def test_sms_taken_from_one_wave_of_tiles_cost_a_second_one(beside: dict[int, dict]) -> None:
    left = figures("h200-sxm")["sm_count"] - 16  # NVLS has 16 channels
    for m in (512, 8192):
        rows, columns = (int(n) for n in beside[m]["tile"].split("x"))
        tiles = math.ceil(m / rows) * math.ceil(8192 / columns)
        waves = math.ceil(tiles / left) / math.ceil(tiles / (left + 16))
        # Less a launch, which costs the same; and the first product ends before NCCL begins.
        assert 0.7 * (waves - 1) <= beside[m]["product_slowdown"] - 1 <= waves - 1, m
    assert beside[512]["product_slowdown"] > 1.5


def test_a_wave_with_room_for_the_all_reduce_is_not_slowed() -> None:
    """A B200 has 148 SMs: 128 tiles and 16 channels fit. (The host's calls for the all-reduce may
    last a little longer than the products before it.)"""
    wanted = "--benchmark_filter=^all_reduce/beside_product/ranks:8/m:512$"
    (row,) = rows_of("--device=model:b200", "--suite=full", wanted).values()
    assert row["tile"] == "128x256"
    assert row["product_slowdown"] == pytest.approx(1, abs=0.005)
    assert row["all_reduce_slowdown"] > 1.01


@pytest.fixture(scope="module")
def full() -> dict[str, dict]:
    """On GPUs of which 72 share one domain of NVLink: lines, one shot against two steps."""
    whole = "[a-z_]+/dtype:fp32/place:out/ranks:8/size:8589934592"
    exchange = "all_to_all/dtype:fp32/place:out/ranks:(8/size:2048|(64|72|1024)/size:8589934592)"
    wanted = f"(line/.*/ranks:8|(one_shot|two_step)/ranks:8/.*|{whole}|{exchange})$"
    flags = ("--device=model:gb200", "--suite=full")
    return rows_of(*flags, f"--benchmark_filter=^all_reduce/{wanted}")


@pytest.mark.release
def test_a_line_is_through_what_single_sizes_take(full: dict[str, dict]) -> None:
    lines = {r["arguments"]["of"]: r for r in full.values() if r["name"].endswith("/ranks:8")}
    assert len(lines) == 5
    for of, row in lines.items():
        assert row["half_bandwidth_bytes"] > 0, of
        # At a size that the line does not go through.
        large = full[f"all_reduce/{of}/dtype:fp32/place:out/ranks:8/size:8589934592"]
        by_line = row["alpha_seconds"] + row["beta_seconds_per_byte"] * 8589934592
        assert by_line == pytest.approx(seconds(large), rel=0.1), of
    exchange = full["all_reduce/all_to_all/dtype:fp32/place:out/ranks:8/size:2048"]
    assert lines["all_to_all"]["alpha_seconds"] == pytest.approx(seconds(exchange), rel=0.01)


def test_within_a_domain_a_rank_more_costs_no_bandwidth(full: dict[str, dict]) -> None:
    bus = {}
    for ranks in (8, 64, 72, 1024):
        row = full[f"all_reduce/all_to_all/dtype:fp32/place:out/ranks:{ranks}/size:8589934592"]
        bus[ranks] = row["bus_bytes_per_second"]
        assert row["label"] == ("network" if ranks > 72 else "link")
    assert bus[72] == pytest.approx(bus[8], rel=0.02)
    assert bus[1024] < bus[72] / 10


def test_one_shot_wins_small_and_loses_large(full: dict[str, dict]) -> None:
    def ratio(size: int) -> float:
        """The time of one shot over that of two steps."""
        one, two = (full[f"all_reduce/{by}/ranks:8/size:{size}"] for by in ("one_shot", "two_step"))
        return seconds(one) / seconds(two)

    assert ratio(2048) < 0.8
    assert ratio(512 * MIB) == pytest.approx(4, rel=0.1)  # (n - 1) of the vector for 2 (n - 1) / n


@pytest.fixture(scope="module")
def switch() -> dict[tuple[str, str, int, int], dict]:
    """Own kernels whose sums the switch takes: by kernel, dtype, ranks and size."""
    wanted = "(nvls|nvls_add)/dtype:(fp32|bf16)/ranks:(2|8)/size:(2048|2097152|536870912)"
    flags = ("--device=model:h200-sxm", "--suite=full")
    found = rows_of(*flags, f"--benchmark_filter=^all_reduce/{wanted}$").values()
    axes = ("dtype", "ranks", "size")
    keys = [(r["kernel"], *(r["arguments"][axis] for axis in axes)) for r in found]
    return dict(zip(keys, found, strict=True))


def test_what_the_switch_adds_is_right_on_every_rank(switch: dict) -> None:
    assert len(switch) == 2 * 2 * 2 * 3
    for (*_, size), row in switch.items():
        assert row["verified"] == ("full" if size == 2048 else "sampled"), row["name"]
        assert row["bus_bytes_per_second"] == pytest.approx(
            size / seconds(row) * 2 * (row["arguments"]["ranks"] - 1) / row["arguments"]["ranks"]
        )
        if size == 512 * MIB:
            assert abs(row["law_ratio"] - 1) <= row["law_tolerance"], row["name"]
            assert row["label"] == "link"


def test_the_switch_lifts_bus_bandwidth_above_the_link(switch: dict) -> None:
    device = figures("h200-sxm")
    link, published = device["nvlink_bytes_per_second"], device["nvlink_sharp_bytes_per_second"]
    for dtype in ("fp32", "bf16"):
        bus = switch["nvls", dtype, 8, 512 * MIB]["bus_bytes_per_second"]
        assert bus == pytest.approx(published, rel=0.02)
        assert bus > link
        # Between two GPUs, two halves cross each link; a peer's half alone would.
        assert switch["nvls", dtype, 2, 512 * MIB]["bus_bytes_per_second"] < link


def test_who_adds_to_all_moves_what_all_ranks_have(switch: dict) -> None:
    """n bytes come over each link for a byte of the vector, instead of (n + 1) / n."""
    for ranks, factor in ((2, 2 / 1.5), (8, 8 / 1.125)):
        shares, adds = (
            seconds(switch[kernel, "fp32", ranks, 512 * MIB]) for kernel in ("nvls", "nvls_add")
        )
        assert adds / shares == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("a100-80-sxm", "multimem begins at compute capability 9.0"),
        ("rtx-5090", "needs 8 GPUs; there is 1"),
    ],
)
def test_a_machine_whose_switches_do_not_add_is_skipped(device: str, reason: str) -> None:
    wanted = "--benchmark_filter=^all_reduce/nvls/dtype:bf16/ranks:8/size:(2048|32768)$"
    found = rows_of(f"--device=model:{device}", "--suite=full", wanted)
    assert {row["skip_reason"] for row in found.values()} == {reason}
    assert len(found) == 2


@pytest.mark.parametrize("call", [1, 2, 3, 5])
def test_switches_that_nobody_has_set_up_skip_the_row_whenever_it_notices(
    call: int, tmp_path: Path
) -> None:
    """For two GPUs, calls 1 and 2 are the probe's; then come the vectors', and the sums'."""
    failing = {"function": "cuMulticastBindMem", "call": call, "error": 802}
    conditions = tmp_path / "calls.json"
    conditions.write_text(json.dumps({"failing_call": failing}))
    row = "--benchmark_filter=^all_reduce/nvls/dtype:fp32/ranks:2/size:2048$"
    flags = ("--device=model:h200-sxm", "--suite=full", f"--conditions={conditions}")
    [found] = rows_of(*flags, row).values()
    assert "does the fabric manager run?" in found["skip_reason"]


def test_the_law_knows_nodes_that_are_not_full() -> None:
    found = rows_of(
        "--device=model:h200-sxm",
        "--axis=all_reduce/all_reduce/ranks=8,9,12,17",
        "--axis=all_reduce/all_reduce/size=536870912",
        "--axis=all_reduce/all_reduce/dtype=fp32",
    )
    ratios = {row["arguments"]["ranks"]: row["law_ratio"] for row in found.values()}
    assert set(ratios) == {8, 9, 12, 17}
    assert all(abs(ratio - 1) < 0.15 for ratio in ratios.values()), ratios


def test_every_dtype_place_and_number_of_ranks_is_in_the_full_suite() -> None:
    done = run("--benchmark_list_tests", "--suite=full", "--benchmark_filter=^all_reduce/")
    names = done.stdout.split()
    assert len(names) == len(set(names))
    for kernel in ("all_reduce", "reduce_scatter", "all_gather", "broadcast"):
        wanted = {
            (dtype, place, str(ranks))
            for dtype in ("fp32", "fp16", "bf16")
            for place in ("out", "in")
            for ranks in (2, 4, 8, 16, 64, 72)
        } | {("fp32", "out", "1024")}
        pattern = rf"^all_reduce/{kernel}/dtype:(\w+)/place:(\w+)/ranks:(\d+)/size:8589934592$"
        assert {m.groups() for name in names if (m := re.match(pattern, name))} == wanted


def test_a_rare_corner_of_the_full_suite_is_right() -> None:
    found = rows_of(
        "--device=model:a100-80-sxm",
        "--suite=full",
        "--benchmark_filter=^all_reduce/.*dtype:bf16/place:in/ranks:(4|16)/size:(2048|8192)$",
    )
    assert len(found) == 16
    assert {row["verified"] for row in found.values()} == {"full"}


def test_a_device_without_links_skips_with_a_reason() -> None:
    found = rows_of("--device=model:rtx-4090", "--benchmark_filter=^all_reduce/broadcast/")
    assert found
    assert {row["skip_reason"] for row in found.values()} == {"needs 8 GPUs; there is 1"}


@pytest.mark.parametrize(("device", "bound"), [("b200", "network"), ("gb200", "link")])
def test_ranks_fill_the_node_that_nvlink_connects(device: str, bound: str) -> None:
    large = f"{WHOLE}/ranks:(8|64)/size:536870912"
    found = rows_of(f"--device=model:{device}", f"--benchmark_filter=^{large}$")
    labels = {row["arguments"]["ranks"]: row["label"] for row in found.values()}
    assert labels == {8: "link", 64: bound}


# --- several processes ---


def launched(processes: int, *flags: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    linked = subprocess.run(
        ["ldd", str(BUILD / "gpubench-model")], capture_output=True, text=True, check=True
    )
    if "libmpi" not in linked.stdout:
        pytest.skip("built without MPI")
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(processes), str(BUILD / "gpubench"), *flags],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | as_root,
    )


def test_processes_say_what_one_process_says(rows: dict[str, dict], tmp_path) -> None:
    out = tmp_path / "run.json"
    done = launched(
        4,
        "--device=model:h200-sxm",
        "--benchmark_filter=^all_reduce/(all_reduce|all_gather|reduce_scatter|broadcast)/",
        f"--benchmark_out={out}",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MODELLED, nothing here was measured") == 1
    found = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    ran = {name: row for name, row in found.items() if not row.get("skipped")}
    assert len(ran) > 12
    for name, row in ran.items():
        assert math.isclose(row["real_time"], rows[name]["real_time"], rel_tol=1e-4), name
        assert row["verified"] == rows[name]["verified"]
    skipped = {
        row["arguments"]["ranks"]: row["skip_reason"]
        for row in found.values()
        if row.get("skipped")
    }
    assert skipped == {2: "needs 2 GPUs, which 4 processes cannot share equally"}


def test_rows_of_one_process_are_not_run_by_several() -> None:
    done = launched(
        2,
        "--device=model:h200-sxm",
        "--benchmark_filter=^(all_reduce/two_step/ranks:8/size:2048|coalescing/strided_read/stride:1)$",
        "--benchmark_format=json",
    )
    assert done.returncode == 0, done.stderr
    reasons = [row["skip_reason"] for row in json.loads(done.stdout)["benchmarks"]]
    assert reasons == [
        "accesses the memory of all ranks: run it without mpirun",
        "runs in one process only: run it without mpirun",
    ]
