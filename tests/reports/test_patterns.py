"""What binds a row, as far as its figures say, and what is told about it."""

import pytest

from gpubench_reports.rules.verdicts.judge import judge
from gpubench_reports.rules.verdicts.rulebook import rules
from gpubench_reports.rules.verdicts.verdict import LOW

from .factory import DRAM, bandwidth_row, make_row
from .judging import one


def training_step(**figures):
    """A step of a second; its idle part is what neither products nor other kernels take."""
    parts = {"compute_seconds": 0.5, "hfu": 0.5, **figures}
    busy = parts["compute_seconds"] + parts.get("bandwidth_seconds", 0)
    waits = any(
        key in parts for key in ("starved_seconds", "communication_seconds", "overhead_seconds")
    )
    idle = 1 - busy if waits else 0.0
    return make_row(
        "training_step/step/with:a", label="tensor", step_seconds=1, gpu_idle_fraction=idle, **parts
    )


FITTING = [
    (
        "branch paths",
        make_row("a/b", label="fp32", active_lanes=4),
        make_row("a/b", label="fp32", active_lanes=32),
    ),
    (
        "the longest warp of each block",
        make_row("divergence/trips/among:warps/ratio:8", label="latency"),
        make_row("divergence/trips/among:blocks/ratio:8", label="latency"),
    ),
    (
        "the host",
        make_row("a/b", label="fp32", lost_fraction=0.14),
        make_row("a/b", label="fp32", lost_fraction=0.04),
    ),
    (
        "its own kernels",
        make_row("a/b", label="fp32", lost_fraction=0.01),
        make_row("a/b", label="fp32"),
    ),
    (
        "its own kernels",
        make_row(
            "host_sync/never_reading/us:5",
            label="fp32",
            items_per_second=1e4,
            claimed_items_per_second=1e5,
        ),
        make_row(
            "host_sync/never_reading/us:5",
            label="fp32",
            items_per_second=1e5,
            claimed_items_per_second=1e5,
        ),
    ),
    (
        "the data loader",
        make_row("data_pipeline/load/threads:1", label="host"),
        make_row("data_pipeline/load/threads:8", label="fp32"),
    ),
    (
        "a grid of one block",
        make_row("data_pipeline/busy/grid:block/host:queues", label="latency"),
        make_row("data_pipeline/busy/grid:full/host:queues", label="fp32"),
    ),
    (
        "the kernels queued before it",
        make_row("stream_overlap/priority/urgent:high", label="fp32", urgent_seconds=5e-5),
        make_row("stream_overlap/pipeline/chunks:1", label="link"),
    ),
    *(
        (
            binds,
            training_step(**parts),
            training_step(compute_seconds=0.7, bandwidth_seconds=0.2, **other),
        )
        for binds, parts, other in (
            ("the data loader", {"starved_seconds": 0.5}, {}),
            ("the exchange of gradients", {"communication_seconds": 0.5}, {}),
            ("launches and the host", {"overhead_seconds": 0.5}, {}),
            ("kernels other than products", {"bandwidth_seconds": 0.5}, {}),
            ("products far from their peak", {"hfu": 0.2}, {}),
            ("the products", {"hfu": 0.5}, {"hfu": 0.2}),
        )
    ),
    (
        "narrow loads into the Tensor Cores",
        make_row("a/b", label="tensor", penalty=2.4),
        make_row("a/b", label="tensor", penalty=0.0),
    ),
    (
        "spilled registers",
        make_row("a/b", label="l2", local_bytes=672),
        make_row("a/b", label="l2", local_bytes=0),
    ),
    (
        "the link's latency",
        make_row("a/b/size:1024", label="link", fit_half_bandwidth_bytes=65536),
        make_row("a/b/size:1048576", label="link", fit_half_bandwidth_bytes=65536),
    ),
]


@pytest.mark.parametrize(("binds", "fits", "other"), FITTING)
def test_a_pattern_names_what_binds_and_gives_its_own_advice(load, binds, fits, other):
    found, not_found = one(load, fits), one(load, other)
    (rule, *_) = [rule for rule in rules()["patterns"] if rule["binds"] == binds]
    assert found.bound == binds
    assert f"bound by {binds} ({found.wall}" in found.sentence
    assert found.change
    assert found.no_help
    assert not_found.bound != binds
    assert not_found.change != found.change
    assert rule["wall"] in {wall["name"] for wall in rules()["walls"]}


def test_every_pattern_has_a_row_that_it_fits():
    assert [fitting[0] for fitting in FITTING] == [rule["binds"] for rule in rules()["patterns"]]


def test_a_pattern_quotes_its_figures(load):
    host = one(load, make_row("a/b", label="fp32", lost_fraction=0.136))
    assert "(communication / overhead; 13.6 % of the time lost)" in host.sentence
    odd = one(load, make_row("a/b", label="tensor", penalty=2.37, pad_cost=0.0156))
    assert odd.shown == (
        "3.4x slower than with padding to multiples of 64, which would add 1.6 % work"
    )


def test_the_bytes_of_half_the_bandwidth_are_those_of_the_same_path(load):
    rows = [
        make_row(f"t/h2d/memory:{memory}/size:{size}", label="link", **more)
        for memory, size, more in (
            ("pinned", 4, {}),
            ("pageable", 4, {}),
            ("pinned", 2**24, {"fit_half_bandwidth_bytes": 1e5}),
        )
    ]
    found = judge(load(rows))
    assert [v.bound for v in found.values()] == ["the link's latency", "link", "link"]


LOW_CAUSES = [
    ("some matrix rows do not start at", {"penalty": 2.4}, {"penalty": 0.02}),
    ("cuBLASLt chose a small tile", {"tile": "64x64"}, {"tile": "128x256"}),
    ("the last wave of tiles leaves most of the SMs idle", {"waves": 1.1}, {"waves": 2.9}),
    (
        "some of the multiplications involve padding",
        {"wasted_fraction": 0.3},
        {"wasted_fraction": 0.02},
    ),
]


@pytest.mark.parametrize(("says", "seen", "refuted"), LOW_CAUSES)
def test_low_rows_of_the_tensor_cores_have_causes_of_their_own(load, says, seen, refuted):
    def causes(figures):
        row = make_row("a/b", label="tensor", roof_fraction=0.2, **figures)
        found = one(load, row, device_kind="model")
        assert found.grade == LOW
        return [cause.says for cause in found.causes]

    assert any(cause.startswith(says) for cause in causes(seen))
    assert causes(refuted) == []


def test_no_cause_is_told_that_the_row_does_not_show(load):
    for label in ("tensor", "dram", "fp32", "link", "host"):
        found = one(load, make_row("a/b", label=label, roof_fraction=0.2))
        assert found.causes == []
        assert found.why == "the row's own figures do not show it"
        assert found.next_steps == []


def test_who_spills_is_not_told_to_take_fewer_registers(load):
    row = bandwidth_row("a/b", DRAM / 2, DRAM, occupancy=0.25, label="l2", local_bytes=672)
    spilling = one(load, row)
    told = " ".join([spilling.change, *(cause.change for cause in spilling.causes)])
    assert "fewer registers" not in told
    assert "a higher register limit" in told
    assert "more resident warps" in spilling.no_help
    fits = one(load, row | {"local_bytes": 0})
    assert "too few warps are resident to cover the latency" in [c.says for c in fits.causes]
