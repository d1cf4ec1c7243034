"""What the program writes is what docs/result-file.schema.json says, and states what rows mean."""

import json
import math

import pytest
from jsonschema import Draft202012Validator

from .conftest import ROOT, run

SCHEMA = json.loads((ROOT / "docs/result-file.schema.json").read_text())


def result_file(*flags: str) -> dict:
    done = run("--device=model:h200-sxm", *flags, "--benchmark_format=json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wrong(document: dict) -> list[str]:
    validator = Draft202012Validator(SCHEMA)
    return [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(document)]


@pytest.fixture(scope="module")
def several() -> dict:
    """Rows of several kinds: bound by memory, by arithmetic on integers, of a library, skipped."""
    rows = (
        "coalescing/strided_read/stride:(1|8)",
        "bank_conflicts/strided/bytes:4/stride:32",
        "compute_peak/mma/dtype:(bf16|int8|fp8)",
        "tile_alignment/odd_m/dtype:bf16/m:4032",
        "memory_hierarchy/shared_latency",
        "transfer/(on_device|h2d/memory:pageable)/size:.*",
        "stream_overlap/both_directions/memory:pinned/direction:both",
    )
    return result_file(f"--benchmark_filter=^({'|'.join(rows)})$")


@pytest.fixture(scope="module")
def rows(several: dict) -> dict[str, dict]:
    return {row["name"]: row for row in several["benchmarks"]}


def test_a_run_is_valid(several: dict) -> None:
    assert wrong(several) == []


def test_a_row_names_the_line_that_registers_it(rows: dict[str, dict]) -> None:
    for name, row in rows.items():
        file, _, line = row["source"].partition(":")
        text = (ROOT / file).read_text().splitlines()[int(line) - 1]
        concept, kernel = name.split("/")[:2]
        assert text.startswith("GPU_BENCHMARK"), (name, row["source"])
        assert f"({concept}, {kernel}" in text, (name, row["source"])


def test_repetitions_and_their_statistics_are_valid() -> None:
    flags = (
        "--benchmark_filter=^(coalescing/strided_read/stride:1|compute_peak/fma/dtype:int32)$",
    )
    assert wrong(result_file(*flags, "--benchmark_repetitions=3")) == []


def test_the_schema_would_object(several: dict) -> None:
    row = several["benchmarks"][0]
    for spoil in (
        {"notes": "one; two"},
        {"headline": {"name": "x", "unit": ""}},
        {"bytes": {"l9": 1}},
    ):
        document = several | {"benchmarks": [row | spoil]}
        assert wrong(document), spoil


def test_each_row_says_what_it_is_judged_by(rows: dict[str, dict]) -> None:
    def headline(name: str) -> tuple[str, str, str]:
        stated = rows[name]["headline"]
        assert rows[name][stated["name"]] > 0
        return stated["name"], stated["unit"], stated["better"]

    assert headline("coalescing/strided_read/stride:8") == (
        "useful_bytes_per_second",
        "B/s",
        "higher",
    )
    assert headline("compute_peak/mma/dtype:bf16") == ("flops_per_second", "FLOP/s", "higher")
    assert headline("compute_peak/mma/dtype:int8") == ("flops_per_second", "OP/s", "higher")
    assert headline("memory_hierarchy/shared_latency") == ("latency_seconds", "s", "lower")
    for name, row in rows.items():
        if "law" in row:
            value = row[row["headline"]["name"]]
            assert value / row["law"] == pytest.approx(row["law_ratio"]), name


def test_axes_and_concepts_are_explained(several: dict, rows: dict[str, dict]) -> None:
    context = several["context"]
    assert context["schema_version"] == 2
    assert context["axes"]["size"] == "bytes"
    assert set(context["concepts"]) == {row["concept"] for row in rows.values()}
    for concept, question in context["concepts"].items():
        head = (ROOT / f"bench/{concept}.cu").read_text().splitlines()[0]
        assert head == f"// {concept}: {question}"
    # Two concepts have strides of their own: each row's unit is known.
    units = {
        name: row.get("axes", {}).get("stride", context["axes"]["stride"])
        for name, row in rows.items()
        if "stride" in row["arguments"]
    }
    assert units["coalescing/strided_read/stride:1"] == "words"
    assert units["bank_conflicts/strided/bytes:4/stride:32"] == "elements"


def test_bytes_are_those_of_each_level(rows: dict[str, dict]) -> None:
    one, eight = (rows[f"coalescing/strided_read/stride:{s}"]["bytes"] for s in (1, 8))
    useful = 4 * 2**25
    for level in ("dram", "l2"):
        assert one[level] == pytest.approx(useful, rel=0.02)
        assert eight[level] == pytest.approx(8 * useful, rel=0.02)
    assert "shared" in rows["bank_conflicts/strided/bytes:4/stride:32"]["bytes"]
    # What crosses the link is no traffic of the device's memory; a copy on it reads and writes.
    assert "bytes" not in rows["transfer/h2d/memory:pageable/size:16777216"]
    size = 64 * 2**20
    assert rows[f"transfer/on_device/size:{size}"]["bytes"] == {"dram": 2 * size}


def test_a_grade_names_its_roof(several: dict, rows: dict[str, dict]) -> None:
    known = {roof["name"] for roof in several["context"]["roofs"]}
    graded = {n: row for n, row in rows.items() if "roof_fraction" in row}
    assert graded
    assert {row["grade_roof"] for row in graded.values()} <= known
    assert rows["compute_peak/mma/dtype:int8"]["grade_roof"] == "tensor_int8"
    units = {roof["name"]: roof["unit"] for roof in several["context"]["roofs"]}
    assert (units["dram"], units["fp32"], units["int32"]) == ("B/s", "FLOP/s", "OP/s")
    assert not any(math.isnan(row["roof_fraction"]) for row in graded.values())


def test_notes_are_a_list(rows: dict[str, dict]) -> None:
    pageable = rows["transfer/h2d/memory:pageable/size:16777216"]
    assert pageable["notes"] == ["timed without the start gate: the body blocks the host"]
    assert "notes" not in rows["coalescing/strided_read/stride:1"]
