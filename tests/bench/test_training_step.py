"""Each switch of a training step moves the wall that it should, and no other."""

from __future__ import annotations

import pytest

from .conftest import EVERYTHING, RowsOfConcept, is_run, rows_of

WALLS = ("compute", "bandwidth", "overhead", "communication", "starved")
LARGE, SMALL = 2048, 256
# What counts as a move: this share of the baseline's step.
MOVED = 0.0075
UP, DOWN = 1, -1
MOVES: dict[tuple[int, str], dict[str, int]] = {
    (LARGE, "tiled"): {},
    (LARGE, "fused_adamw"): {"bandwidth": DOWN},
    (LARGE, "checkpointing"): {"compute": UP, "bandwidth": UP},
    (LARGE, "clipping"): {"bandwidth": UP},
    # Operands are converted, by launches of their own.
    (LARGE, "fp8"): {"compute": DOWN, "bandwidth": UP},
    # Each GPU steps an eighth of the weights, by fewer launches.
    (LARGE, "sharded"): {"communication": UP, "bandwidth": DOWN},
    (LARGE, "starved"): {"starved": UP},
    (LARGE, "odd_vocabulary"): {"compute": UP},
    (LARGE, "all_reduce"): {"communication": UP},
    (LARGE, "buckets"): {"communication": UP},
    # A launch that is saved is no gap any more either.
    (SMALL, "fused"): {"bandwidth": DOWN, "overhead": DOWN},
    (SMALL, "graph"): {"overhead": DOWN},
    (SMALL, "item"): {"overhead": UP},
    (SMALL, "item_late"): {"overhead": UP},
}


# Rows of the full suite that take seconds: only scripts/test --all runs them.
LONG = ("tiled", "checkpointing", "clipping", "sharded", "fp8")


def moves() -> list:
    """The cases of MOVES."""

    def is_long(hidden: int, switch: str) -> bool:
        name = f"training_step/step/with:{switch}/hidden:{hidden}"
        return switch in LONG or not is_run(name)

    return [
        pytest.param(*case, marks=pytest.mark.release if is_long(*case) else ()) for case in MOVES
    ]


@pytest.fixture(scope="module")
def rows(rows_of_concept: RowsOfConcept) -> dict[str, dict]:
    """The default suite's, and what else the tests compare."""
    wanted = f"(item_late|fast_graph|accumulation)/hidden:{SMALL}"
    if EVERYTHING:
        wanted += f"|({'|'.join(LONG)})/hidden:{LARGE}"
    return rows_of_concept("training_step") | of_the_full_suite(wanted)


def of_the_full_suite(pattern: str) -> dict[str, dict]:
    wanted = f"--benchmark_filter=^training_step/step/with:({pattern})$"
    return rows_of("--suite=full", "--device=model:h200-sxm", wanted)


def step(rows: dict[str, dict], hidden: int, switch: str = "nothing") -> dict:
    return rows[f"training_step/step/with:{switch}/hidden:{hidden}"]


def change(rows: dict[str, dict], hidden: int, switch: str, wall: str) -> float:
    """How a wall's seconds change, in steps of the baseline."""
    base = step(rows, hidden)
    key = f"{wall}_seconds"
    # A wall of zero seconds is absent.
    return (step(rows, hidden, switch).get(key, 0) - base.get(key, 0)) / base["step_seconds"]


@pytest.mark.parametrize("wall", WALLS)
@pytest.mark.parametrize(("hidden", "switch"), moves())
def test_a_switch_moves_its_wall_and_no_other(
    rows: dict[str, dict], hidden: int, switch: str, wall: str
) -> None:
    moved = change(rows, hidden, switch, wall)
    direction = MOVES[hidden, switch].get(wall)
    if direction is None:
        assert abs(moved) < MOVED
    else:
        assert direction * moved > MOVED


def test_the_walls_add_up_to_the_step(rows: dict[str, dict]) -> None:
    for name, row in rows.items():
        total = sum(row.get(f"{wall}_seconds", 0) for wall in WALLS)
        assert total == pytest.approx(row["step_seconds"], rel=0.01), name


def test_a_large_step_is_made_of_products_and_a_small_one_is_not(rows: dict[str, dict]) -> None:
    large, small = step(rows, LARGE), step(rows, SMALL)
    assert 0.35 < large["mfu"] < 0.5
    assert small["mfu"] < 0.1
    assert large["overhead_seconds"] < 0.02 * large["step_seconds"]
    assert small["overhead_seconds"] > 0.2 * small["step_seconds"]
    assert small["gpu_idle_fraction"] == pytest.approx(
        small["overhead_seconds"] / small["step_seconds"], rel=0.01
    )


@pytest.mark.release
def test_hfu_is_above_mfu_where_something_is_computed_again(rows: dict[str, dict]) -> None:
    base, again = step(rows, LARGE), step(rows, LARGE, "checkpointing")
    assert base["hfu"] == pytest.approx(base["mfu"], rel=1e-3)
    assert 1.1 < again["hfu"] / again["mfu"] < 4 / 3


def test_memory_is_counted_by_kind(rows: dict[str, dict]) -> None:
    base = step(rows, LARGE)
    weights = 2 * 50304 * LARGE + 2 * 12 * LARGE**2
    assert base["weight_bytes"] == weights * (4 + 2)  # fp32, and a copy in bf16
    assert base["state_bytes"] == 2 * 4 * weights
    assert base["gradient_bytes"] == 2 * weights + 2 * 50304 * LARGE  # the table's in fp32
    for switch in ("tiled", "checkpointing") if EVERYTHING else ():
        assert step(rows, LARGE, switch)["activation_bytes"] < 0.9 * base["activation_bytes"]


@pytest.mark.release
def test_buckets_hide_most_of_what_comes_before_the_last(rows: dict[str, dict]) -> None:
    end, buckets = (
        step(rows, LARGE, switch)["communication_seconds"] for switch in ("all_reduce", "buckets")
    )
    table = 4 * 50304 * LARGE / step(rows, LARGE)["gradient_bytes"]
    assert table * end * 0.9 < buckets < 0.8 * end


@pytest.mark.release
def test_sharded_states_take_an_eighth_and_cost_the_all_reduce_again(
    rows: dict[str, dict],
) -> None:
    base, reduced, sharded = (
        step(rows, LARGE, switch) for switch in ("nothing", "all_reduce", "sharded")
    )
    assert sharded["state_bytes"] == base["state_bytes"] / 8
    assert sharded["weight_bytes"] == pytest.approx(base["weight_bytes"] * (4 / 8 + 2) / 6)
    # Gradients are scattered, and the weights in bf16 gathered: the table's gradient is in fp32.
    weights = 2 * 50304 * LARGE + 2 * 12 * LARGE**2
    share = (base["gradient_bytes"] + 2 * weights) / 2 / base["gradient_bytes"]
    # The all-reduce may add up in the switch, where a byte goes once instead of 2 x 7/8 times.
    longer = sharded["communication_seconds"] / reduced["communication_seconds"] / share
    assert 0.95 < longer < 2 * 7 / 8


def test_a_read_that_is_late_costs_less_than_one_that_is_waited_for(rows: dict[str, dict]) -> None:
    assert (
        0
        < change(rows, SMALL, "item_late", "overhead")
        < 0.5 * change(rows, SMALL, "item", "overhead")
    )


def test_switches_together_do_what_they_do_alone(rows: dict[str, dict]) -> None:
    both = step(rows, SMALL, "fast_graph")
    assert both.get("overhead_seconds", 0) < MOVED * both["step_seconds"]
    assert both["bandwidth_seconds"] < step(rows, SMALL, "fused")["bandwidth_seconds"]
    assert both["step_seconds"] < step(rows, SMALL, "graph")["step_seconds"]


def test_parts_of_a_batch_need_half_of_the_activations(rows: dict[str, dict]) -> None:
    base, parts = step(rows, SMALL), step(rows, SMALL, "accumulation")
    assert parts["activation_bytes"] == pytest.approx(base["activation_bytes"] / 2, rel=0.01)
    assert parts["gradient_bytes"] > base["gradient_bytes"]


def test_bytes_are_those_of_all_steps_of_a_row(rows: dict[str, dict]) -> None:
    base = step(rows, LARGE)
    moved = base["moved_bytes_per_second"] * base["step_seconds"]
    # AdamW reads the gradients, and reads and writes states and weights.
    optimizer = 2 * base["state_bytes"] + 2 * base["weight_bytes"] + base["gradient_bytes"]
    assert 2 * optimizer < moved < 6 * optimizer
    assert base["arithmetic_intensity"] == pytest.approx(
        base["flops_per_second"] / base["moved_bytes_per_second"]
    )


def test_what_takes_most_of_a_step_binds_it(rows: dict[str, dict]) -> None:
    labels = dict(zip(WALLS, ("tensor", "dram", "launch", "link", "host"), strict=True))
    for name, row in rows.items():
        longest = max(WALLS, key=lambda wall: row.get(f"{wall}_seconds", 0))
        assert row["label"] == labels[longest], name
        assert (row.get("grade_roof") == "tensor_bf16") == (longest == "compute"), name


@pytest.mark.release
def test_fp8_halves_the_linear_products_of_the_layers(rows: dict[str, dict]) -> None:
    base, fp8 = step(rows, LARGE), step(rows, LARGE, "fp8")
    weights = 2 * 12 * LARGE**2
    peak = base["flops_per_second"] / base["mfu"]
    flops = 6 * weights * base["tokens_per_step"]
    saved = base["compute_seconds"] - fp8["compute_seconds"]
    # Products reach part of the peak.
    assert 1 < saved / (flops / peak / 2) < 1.5
    # A copy of the weights by columns, and the largest of them by rows.
    assert fp8["weight_bytes"] == base["weight_bytes"] + weights + 4 * LARGE**2


@pytest.mark.release
def test_a_real_models_layers_are_large_steps_too() -> None:
    rows = of_the_full_suite("(nothing|fast)/hidden:(768|4096)")
    for hidden in (768, 4096):
        assert 0.3 < step(rows, hidden)["mfu"] < step(rows, hidden, "fast")["mfu"] < 0.65
