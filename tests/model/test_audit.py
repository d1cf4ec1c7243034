"""The compiled kernels are what compiled.json says, and where counters are the lesson they keep the
accesses that the emulator counts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "harness/platform/model/audit"))

import audit  # noqa: E402
from disassembly import Compiled, Reader, compiled_in  # noqa: E402
from sites import Place, Site  # noqa: E402

HERE = "kernels/coalescing.cuh"
Codes = dict[str, dict[str, Compiled]]
Key = tuple[str, int]  # a kernel's name, and an architecture
TEXT = (ROOT / HERE).read_text().splitlines()[29].strip()


@pytest.fixture(scope="module")
def build() -> Path:
    for program in ("gpubench-cuda", "gpubench-sites"):
        if not (BUILD / program).exists():
            pytest.skip(f"{program} is not built in {BUILD}")
    if audit.kept()["nvcc"] != audit.nvcc_of(BUILD):
        pytest.skip(f"compiled.json is of nvcc {audit.kept()['nvcc']}: another compiler")
    return BUILD


@pytest.fixture(scope="module")
def found(build: Path) -> audit.Audit:
    return audit.audit(build)


@pytest.fixture(scope="module")
def codes(build: Path) -> Codes:
    """What the compiler made of each kernel, by architecture, then by its name."""
    return compiled_in(build, audit.kept()["kernels"])


@pytest.mark.release  # the emulator runs a row of each kind
def test_the_file_is_current(found: audit.Audit) -> None:
    stale = audit.stale(found, audit.kept())
    assert not stale, "scripts/audit has to be run:\n" + "\n".join(stale)


@pytest.mark.release
def test_counters_that_are_the_lesson_are_those_of_the_compiled_code(found: audit.Audit) -> None:
    assert found.kernels
    assert not found.wrong_counts(), "\n".join(found.wrong_counts())


def test_the_figures_of_each_kernel_are_the_compilers(
    codes: Codes,
) -> None:
    kept = audit.kept()["kernels"]
    for architecture, kernels in codes.items():
        assert kernels
        for name, code in kernels.items():
            entry = {k: v for k, v in kept[name][architecture].items() if k != "counts"}
            assert entry == audit.figures_of(code), f"{name}, sm_{architecture}: run scripts/audit"


def compiled(codes: Codes, beginning: str) -> dict[Key, set[str]]:
    """The instructions of all kernels whose names begin so."""
    result = {
        (name, int(architecture)): code.instructions
        for architecture, kernels in codes.items()
        for name, code in kernels.items()
        if name.startswith(beginning)
    }
    assert result, beginning
    return result


def test_asynchronous_copies_are_compiled_to_their_own_instructions(codes: Codes) -> None:
    for (name, architecture), code in compiled(codes, "async_copy::cp_async<").items():
        assert ("LDGSTS" in code) == (architecture >= 80), (name, architecture)
        assert ("LDG" in code) == (architecture < 80), (name, architecture)
    for (name, architecture), code in compiled(codes, "async_copy::bulk").items():
        assert ("UBLKCP" in code) == (architecture >= 90), (name, architecture)
        assert ("SYNCS" in code) == (architecture >= 90), (name, architecture)
        assert "LDG" not in code, (name, architecture)
    for (name, architecture), code in compiled(codes, "async_copy::plain<").items():
        assert {"LDG", "STS"} <= code, (name, architecture)
        assert not {"LDGSTS", "UBLKCP", "LDL", "STL"} & code, (name, architecture)


def test_branches_are_branches(codes: Codes) -> None:
    for kernel in ("divergence::branches", "divergence::trips"):
        for (name, architecture), code in compiled(codes, kernel).items():
            assert {"BSSY", "BSYNC", "FFMA"} <= code, (name, architecture)
            assert not {"LDL", "STL"} & code, (name, architecture)
    for (name, architecture), code in compiled(codes, "divergence::branches").items():
        assert {"BRA", "BRX"} & code, (name, architecture)
        assert not {"FSEL", "FSETP"} & code, (name, architecture)


def test_registers_are_spilled_where_that_is_the_lesson(codes: Codes) -> None:
    compiled(codes, "registers::tile<")
    for architecture, kernels in codes.items():
        for name, code in kernels.items():
            if not name.startswith("registers::tile<"):
                continue
            edge, blocks = (int(word.rstrip("u")) for word in name[:-1].split("<")[1].split(", "))
            spills = edge == 16 or (edge == 8 and blocks == 16)
            found = {"LDL", "STL"} & code.instructions
            assert len(found) == (2 if spills else 0), (name, architecture)
            if not spills:
                continue
            # What does not fit is loaded and stored once a turn, as the law has it.
            turns = code.spills["multiply_adds"] / edge**2
            for moved in ("load_bytes", "store_bytes"):
                assert code.spills[moved] / turns == pytest.approx(
                    code.local_bytes, rel=0.25, abs=8
                ), (name, architecture)


def test_a_change_of_registers_and_a_lost_architecture_make_the_file_stale(tmp_path: Path) -> None:
    entry = {"registers": 16}
    everywhere = dict.fromkeys(audit.all_architectures(), entry)
    now = audit.Audit("13.0.88", ["80"], {"c::k": {"80": entry}}, {})
    known = {"nvcc": "13.0.88", "kernels": {"c::k": everywhere}}
    assert audit.stale(now, known) == []

    changed = {**everywhere, "80": {"registers": 17}}
    assert audit.stale(now, {**known, "kernels": {"c::k": changed}}) == [
        "c::k, sm_80: {'registers': 17} in the file, {'registers': 16} compiled"
    ]
    lost = {a: e for a, e in everywhere.items() if a != "90"}
    assert audit.stale(now, {**known, "kernels": {"c::k": lost}}) == [
        "c::k: the file has nothing for sm_90"
    ]
    assert audit.stale(now, {**known, "kernels": {"c::k": everywhere, "c::gone": everywhere}}) == [
        "c::gone: no row runs it"
    ]
    # What is written is read back, with what was known of architectures not compiled now.
    audit.write(now, known, tmp_path / "compiled.json")
    assert audit.kept(tmp_path / "compiled.json")["kernels"] == known["kernels"]


def test_counts_are_the_lesson_where_the_profiler_confirms_them() -> None:
    assert audit.counts_are_the_lesson("coalescing")
    assert not audit.counts_are_the_lesson("stream")


def read(*lines: str) -> Compiled:
    return Reader().read("\n".join([".text.kernel:", *lines]), ["kernel"])["kernel"]


def at(line: int, inlined: str = "") -> str:
    return f'\t//## File "{ROOT / HERE}", line {line}{inlined}'


def site(times: dict[int, int], in_loop: bool = False) -> Site:
    return Site(times, in_loop)


PLACE = Place(HERE, 30)


def test_disassembly_is_read_by_site() -> None:
    kernel = read(
        at(42),
        "        /*00e0*/                   LDG.E.128.CONSTANT R6, desc[UR6][R6.64] ;",
        '\t//## File "/usr/local/cuda/include/sm_30.hpp", line 440 inlined at "x", line 1',
        at(24, f' inlined at "{ROOT / HERE}", line 46'),
        at(46),
        "        /*00f0*/              @!P0 STS.64 [R6], R8 ;",
        ".L_x_1:",
        at(47),
        "        /*0100*/                   ATOMG.E.ADD.F64.RN P1, RZ, desc[UR4][R2.64], R4 ;",
        "        /*0110*/                   STL.64 [R1], R2 ;",
        "        /*0120*/               @P0 BRA `(.L_x_1) ;",
        at(48),
        "        /*0130*/                   LDS.U.U16 R2, [R3] ;",
    )
    assert kernel.sites == {
        ("global load", Place(HERE, 42)): site({16: 1}),
        ("shared store", Place(HERE, 24)): site({8: 1}),
        ("global atomic", Place(HERE, 47)): site({8: 1}, in_loop=True),
        ("shared load", Place(HERE, 48)): site({2: 1}),
    }
    assert kernel.local_store_bytes == 8


def loop(name: str, begin: int, *instructions: str) -> list[str]:
    lines = [f".L_{name}:"]
    for i, text in enumerate([*instructions, f"@P0 BRA `(.L_{name})"]):
        lines.append(f"        /*{begin + 16 * i:04x}*/                   {text} ;")
    return lines


def test_spills_are_those_of_a_turn_of_the_innermost_loops() -> None:
    inner = loop("x_2", 0x20, "LDL.LU R4, [R1]", "FFMA R4, R5, R6, R4", "STL.64 [R1], R4")
    kernel = read(
        at(42),
        "        /*0000*/                   STL [R1], R2 ;",
        *loop("x_1", 0x10, "FFMA R4, R5, R6, R4")[:-1],
        *inner,
        "        /*0060*/               @P0 BRA `(.L_x_1) ;",
    )
    assert kernel.spills == {"multiply_adds": 1, "load_bytes": 4, "store_bytes": 8}
    assert kernel.local_store_bytes == 12
    # Spilled, but not in a loop: once.
    once = read(at(42), "        /*0000*/                   STL [R1], R2 ;")
    assert once.spills == {"multiply_adds": 0}
    # In a loop that computes nothing, nobody knows how often.
    unknown = read(at(42), *loop("x_1", 0x10, "LDL R4, [R1]"))
    assert unknown.spills == {}
    assert read(at(42), *loop("x_1", 0x10, "FFMA R4, R5, R6, R4")).spills == {}


@pytest.mark.parametrize(
    ("seen", "compiled", "words"),
    [
        ({4: 8}, site({4: 8}), ""),  # unrolled
        ({4: 8}, site({4: 2}, in_loop=True), ""),  # partly unrolled
        ({4: 1}, site({4: 3}), ""),  # on several paths
        ({4: 8}, site({16: 2}), "merges 8 shared loads of 4 bytes into 2 of 16"),
        ({4: 8}, site({16: 1, 4: 1}, in_loop=True), "merges shared loads of 4 bytes into 4+16"),
        ({16: 1}, site({4: 4}), "splits 1 shared loads of 16 bytes into 4 of 4"),
        ({4: 8}, site({4: 1}), "makes 1 of 8 shared loads of 4 bytes"),
        ({4: 8}, None, "leaves out the shared load of 4 bytes"),
    ],
)
def test_what_the_compiler_did_in_words(
    seen: dict[int, int], compiled: Site | None, words: str
) -> None:
    key = ("shared load", PLACE)
    found = audit.differences({key: site(seen)}, {} if compiled is None else {key: compiled})
    expected = f"ptxas {words} at 'coalescing.cuh: {TEXT}'"
    assert found == ({"shared load": expected} if words else {})


def test_a_site_may_lie_on_another_line_of_its_statement_but_is_not_taken_twice() -> None:
    near = Place(HERE, 32)
    far = Place(HERE, 39)
    one = {("shared load", PLACE): site({4: 1})}
    assert audit.differences(one, {("shared load", near): site({4: 1})}) == {}
    # Further away in the file if nothing else is known to come by there, of the same width.
    assert audit.differences(one, {("shared load", far): site({4: 1})}) == {}
    assert audit.differences(one, {("shared load", far): site({8: 1})}) != {}
    elsewhere = Place("kernels/other.cuh", 30)
    assert audit.differences(one, {("shared load", elsewhere): site({4: 1})}) != {}
    both = {**one, ("shared load", near): site({4: 1})}
    assert "leaves out" in audit.differences(both, {("shared load", near): site({4: 1})}).get(
        "shared load", ""
    )


def test_a_wrong_count_is_reported_only_where_it_is_the_lesson() -> None:
    entry = {"80": {"registers": 16, "counts": {"global load": "ptxas merges"}}}
    studied = {"k": {"coalescing": ["global load"]}}
    reported = audit.Audit("", ["80"], {"k": entry}, studied).wrong_counts()
    assert reported == ["k for sm_80, global load (of coalescing): ptxas merges"]
    for harmless in ({"k": {"coalescing": ["global store"]}}, {"k": {"stream": ["global load"]}}):
        assert audit.Audit("", ["80"], {"k": entry}, harmless).wrong_counts() == []


def test_the_file_names_its_compiler_and_every_architecture() -> None:
    data = json.loads(audit.DATA.read_text())
    assert data["nvcc"]
    for name, entries in audit.kept()["kernels"].items():
        assert sorted(entries) == sorted(audit.all_architectures()), name
