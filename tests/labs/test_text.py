"""What a submission's text alone may cost whoever reads it: time, and lines of a report."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from checker import counters, grade, policy, predictions, qualifiers, show, source
from checker.build import Program
from checker.policy import MOST_SOURCE_BYTES
from checker.report import Part, Report, Submission, excerpt

from .conftest import LABS, ROOT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/* ", "a comment without an end"),
        ('"\\', "a quotation without an end"),
        ("'\\", "a quotation without an end"),
        ("[", "an attribute has no place"),
    ],
)
def test_what_nobody_ends_is_read_in_a_moment(text: str, said: str) -> None:
    began = time.process_time()
    faults = source.faults_of(text * (MOST_SOURCE_BYTES // len(text)), "solution.cuh")
    assert time.process_time() - began < 10
    assert any(said in fault for fault in faults)


def test_what_ends_is_no_fault() -> None:
    text = "/* a */ const char* of = \"a \\\"b\\\"\"; [[maybe_unused]] char c = '\\''; // don't\n"
    assert source.faults_of(text, "solution.cuh") == []


def test_sums_of_doubles_that_the_model_does_not_count_are_refused() -> None:
    assert source.faults_of("a = __fadd_rz(b, c);\n", "solution.cuh") == []
    (fault,) = source.faults_of("a = __dadd_rz(b, c);\n", "solution.cuh")
    assert "__dadd_rz: not among the names of CUDA" in fault


def test_a_number_ends_where_the_compiler_ends_it() -> None:
    """Between a digit and a quotation mark that a dot follows: the rest is no character."""
    hidden = "f(1'.'); asm(\"\"); f('1'2);\n"
    assert any("asm" in fault for fault in source.faults_of(hidden, "solution.cuh"))
    assert source.faults_of("a = 1'000.5'0e-3f;\n", "solution.cuh") == []


@pytest.mark.parametrize("turns", ["", " 8", "(words / 2)", " 2 * (words - 1)", " words % 3"])
def test_loops_are_unrolled_as_often_as_an_expression_says(turns: str) -> None:
    assert source.faults_of(f"#pragma unroll{turns}\n", "solution.cuh") == []


@pytest.mark.parametrize("turns", ['("no-tree")', " 4; asm", " {"])
def test_no_other_words_follow_unroll(turns: str) -> None:
    (fault,) = source.faults_of(f"#pragma unroll{turns}\n", "solution.cuh")
    assert "a pragma has no place in a solution" in fault


@pytest.mark.parametrize(
    "value",
    ["32", "(32) // side", "0xffffffffu", "-1.5e-6f", "(SIDE * (ROWS_2 + 1) / 2)", "8 /* a */"],
)
def test_a_macro_may_name_a_number(value: str) -> None:
    assert source.faults_of(f"  #  define TILE\t{value}\r\n", "solution.cuh") == []


@pytest.mark.parametrize(
    "macro",
    [
        *("TILE", "TILE asm", "TILE (asm)", "TILE float", "TILE(x) x", "TILE() 1", "TILE 1 ## 2"),
        *("tile 32", "_TILE 32", "TILE__ 32", "TILE 1, 2", "TILE 32;", 'TILE "a"', "TILE 'a'"),
        *("TILE 1 /*\n*/ , as ## m", "TILE 1 /* a */ /*\n*/", "TILE /*\n*/ 1"),
    ],
)
def test_no_other_macro_has_a_place(macro: str) -> None:
    (fault, *_) = source.faults_of(f"#define {macro}\n", "solution.cuh")
    assert "a macro has no place in a solution, but for a number's name" in fault


def test_a_macro_without_end_is_read_in_a_moment() -> None:
    began = time.process_time()
    for text in (f"#define A 1{' ' * MOST_SOURCE_BYTES}x", f"#define{' ' * MOST_SOURCE_BYTES}x"):
        assert source.faults_of(text, "solution.cuh")
    assert time.process_time() - began < 10


def test_alignas_stands_in_front() -> None:
    (fault,) = source.faults_of("__shared__ alignas(16) float of[4];\n", "solution.cuh")
    assert "write alignas(...) in front of __shared__" in fault
    assert source.faults_of("alignas(16) __shared__ float of[4];\n", "solution.cuh") == []


def test_a_question_is_no_fault() -> None:
    # C++20 has no trigraphs.
    assert source.faults_of("// is this right??/\nint a = 1 /* why??= */;\n", "solution.cuh") == []


@pytest.mark.parametrize("text", ["%:define a", "<:", "a :>", "<% int a;", "%>"])
def test_digraphs_have_no_place(text: str) -> None:
    assert any("a digraph" in fault for fault in source.faults_of(text, "solution.cuh"))


def test_a_comment_has_no_digraphs() -> None:
    text = "// 50%: half of them\n/* <:\n %: */ int a;\n"
    assert source.faults_of(text, "solution.cuh") == []
    assert source.faults_of(text + "%:define b\n", "solution.cuh")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extern __shared__ float tile[];", 'dynamic_shared() for that, of #include "dynamic_'),
        (
            "__constant__ float of[4];",
            "__constant__: not among the names of CUDA that the labs know",
        ),
        ("int i = __activemask();", "__activemask: not among the names of CUDA that the labs know"),
    ],
)
def test_what_of_cuda_the_labs_lack_is_called_that(text: str, said: str) -> None:
    (fault,) = source.faults_of(f"{text}\n", "solution.cuh")
    assert said in fault


def test_the_page_names_the_headers_and_names_that_are_known() -> None:
    page = (ROOT / "labs" / "README.md").read_text()
    rules = page.split("A solution must follow these rules:")[1].split("\nCompiler warnings")[0]
    named = set(re.findall(r"`([\w./]+)(?:\(\))?`", rules))
    of_c = [name for name in source.INCLUDES if name.startswith("c") and "." not in name]
    assert source.INCLUDES - {f"{name[1:]}.h" for name in of_c} <= named
    names = {name for name in named if name.startswith("__")}
    unknown = {name for name in names if not source.CUDAS.fullmatch(name)}
    assert unknown == {"__constant__", "__activemask"}


def test_an_attribute_ends_where_it_is_read() -> None:
    for text in ("[[maybe_unused,\ngnu::constructor]]", "[[maybe_unused((((((((,gnu::x]]"):
        assert source.faults_of(text, "solution.cuh")


def test_a_report_of_many_faults_has_an_end() -> None:
    assert excerpt(["a"] * 12) == ["a"] * 12
    assert excerpt(["a"] * 131_000) == [*["a"] * 12, "... and 130988 more"]
    assert excerpt(["a"] * 30, 20) == [*["a"] * 20, "... and 10 more"]
    assert len(excerpt(["a" * 200_000])[0]) < 500


def test_a_report_on_a_text_full_of_faults_has_an_end(prepared: object, tmp_path: Path) -> None:
    lab = LABS[0]
    solution = tmp_path / "solution.cuh"
    solution.write_text("@\n" * (MOST_SOURCE_BYTES // 2))
    submission = Submission(solution, lab.folder / "reference" / "answers.toml")
    report = grade.grade(lab, submission, tmp_path, device="model:h200-sxm", seed=7)
    lines = report.part("correctness").lines
    assert len(lines) == 13
    assert lines[-1].startswith("... and ")


def test_a_report_on_many_costly_lines_has_an_end(tmp_path: Path, monkeypatch) -> None:
    access = {"space": "global", "kind": "load", "place": "x", "requests": 1, "bytes": 4}
    access |= {"sectors_per_request": 32, "ideal_sectors_per_request": 4}
    accesses = [access | {"where": f"solution.cuh:{line}"} for line in range(5000)]
    explained = {"explanations": [{"accesses": accesses}]}, ""
    monkeypatch.setattr(counters, "explained", lambda *_: explained)
    part = Part("counters", 20)
    program = Program(tmp_path / "lab", tmp_path / "unit.o")
    rows: dict = {"lab/timed": {}}
    counters.grade_counters(LABS[0], program, tmp_path, "model:h200-sxm", 7, rows, part)
    assert part.points == 0
    assert 2 < len(part.lines) < 200


def test_members_of_a_vector_are_told_to_be_copied_as_a_whole() -> None:
    access = {"space": "global", "kind": "load", "place": "x", "where": "solution.cuh:2"}
    access |= {"sectors_per_request": 16, "ideal_sectors_per_request": 4}
    assert counters.COPY_VECTORS in counters.costly(LABS[0], access | {"bytes": 4}, "", set())
    assert counters.COPY_VECTORS not in counters.costly(LABS[0], access | {"bytes": 8}, "", set())


def predicted(folder: Path, answers: str) -> list[str]:
    (folder / "answers.toml").write_text(answers)
    part = Part("predictions", 20)
    predictions.grade_predictions(LABS[0], Submission(folder, folder / "answers.toml"), part)
    return part.lines


def test_no_name_that_a_student_chose_makes_lines_of_its_own(tmp_path: Path) -> None:
    """They would be read as the checker's, or as further rows of a table."""
    forged = "x\\n\\ntotal  100 of 100\\n=cmd\\t"
    answers = tmp_path / "answers.toml"
    answers.write_text(f'"{forged}" = 1\n')
    report = Report(LABS[0], "model:h200-sxm", 7, [Part("predictions", 20)])
    predictions.grade_predictions(LABS[0], Submission(tmp_path, answers), report.parts[0])
    told = report.parts[0].told
    assert told[0].startswith(f"no question is called {forged}: ")
    assert all(f"    {line}" in show.as_text(report).split("\n") for line in told)
    assert show.as_gradescope(report)["tests"][0]["output"].split("\n") == told
    assert show.as_summary("a\nb", report)["student"] == "a\\nb"
    assert show.as_summary("ada", report)["remark"] == told[0]
    assert show.as_ungraded("ada", "01", "a\nb")["remark"] == "not graded: a\\nb"


def test_answers_to_no_question_have_an_end(tmp_path: Path) -> None:
    lines = predicted(tmp_path, "".join(f"of{n}=1\n" for n in range(300)))
    assert sum("no question is called" in line for line in lines) == 12
    assert "... and 288 more" in lines


def test_answers_are_short(tmp_path: Path) -> None:
    tables = policy.MOST_ANSWERS_BYTES // 2 - 2  # a table in a table in ...
    began = time.process_time()
    assert "a" in "".join(predicted(tmp_path, ".".join("a" * tables) + "=1"))
    assert time.process_time() - began < 5
    assert "answers.toml: larger than 4 KiB" in predicted(tmp_path, ".".join("a" * 100_000) + "=1")


RIGHT = (LABS[0].folder / "reference" / "answers.toml").read_text(encoding="utf-8")
INTENSITY = "arithmetic_intensity = "


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("0,17", "0,17 (answers.toml:4): a decimal point, not a comma"),
        ("0.17f  # about a sixth", "0.17f (answers.toml:4): not a number"),
        ("1/6", "1/6 (answers.toml:4): not a number"),
        ('"0,17"', "0,17: a decimal point, not a comma"),
    ],
)
def test_a_slip_costs_one_answer_and_no_other(answer: str, said: str, tmp_path: Path) -> None:
    """Nor the code: a class is graded when nobody can write it again."""
    assert f"{INTENSITY}0.17\n" in RIGHT
    answers = tmp_path / "answers.toml"
    answers.write_text(RIGHT.replace(f"{INTENSITY}0.17", f"{INTENSITY}{answer}"))
    solution = tmp_path / "solution.cuh"
    solution.write_text("asm")
    submission = Submission(solution, answers)
    report = grade.grade(LABS[0], submission, tmp_path, device="model:h200-sxm", seed=7)
    part = report.part("predictions")
    assert part.points == pytest.approx(part.of * 4 / 5)
    assert f"wrong  {INTENSITY}{said}" in part.lines
    assert [line for line in part.lines if not line.startswith("right ")] == part.lines[3:4]
    assert "inline assembly" in report.part("correctness").lines[0]
    assert not report.has_all_answers  # what is corrected next is no second answer


def test_what_can_be_read_of_answers_is_read(tmp_path: Path) -> None:
    lines = predicted(tmp_path, RIGHT.replace("0.17", '"0.17"') + "these are mine\n")
    assert lines[0] == "answers.toml:6: no line of the form question = answer"
    assert all(line.startswith("right ") for line in lines[1:])
    lines = predicted(tmp_path, RIGHT + f"{INTENSITY}7\n")
    assert lines[0] == "answers.toml:6: arithmetic_intensity has an answer already, and that counts"
    assert all(line.startswith("right ") for line in lines[1:])
    wall = next(lab for lab in LABS if any(p.choices for p in lab.predictions))
    text = (wall.folder / "reference" / "answers.toml").read_text(encoding="utf-8")
    (tmp_path / "answers.toml").write_text(text.replace('"', ""))
    part = Part("predictions", 20)
    submission = Submission(tmp_path, tmp_path / "answers.toml")
    assert predictions.grade_predictions(wall, submission, part) == ([], [])
    assert part.points == 20


@pytest.mark.parametrize("answer", ["", "?", '""', "?? # later"])
def test_an_answer_that_is_not_there_yet_is_open(answer: str, tmp_path: Path) -> None:
    lines = predicted(tmp_path, RIGHT.replace(f"{INTENSITY}0.17", f"{INTENSITY}{answer}"))
    assert lines[3].startswith("open   arithmetic_intensity: ")


def test_answers_that_are_not_there_are_named(tmp_path: Path) -> None:
    part = Part("predictions", 20)
    predictions.grade_predictions(LABS[0], Submission(tmp_path, tmp_path / "answers.toml"), part)
    assert part.lines[0] == "answers.toml: No such file or directory"


def test_a_mark_at_the_beginning_is_no_part_of_a_text(tmp_path: Path) -> None:
    lab = LABS[0]
    given = lab.folder / "reference" / "answers.toml"
    lines = predicted(tmp_path, "\ufeff" + given.read_text(encoding="utf-8"))
    assert all(line.startswith("right ") for line in lines)
    solution = tmp_path / "solution.cuh"
    solution.write_text("\ufeff" + lab.reference.read_text(), encoding="utf-8")
    text, faults = policy.source_faults(lab, solution)
    assert (text, faults) == (lab.reference.read_text(), [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("float f(float x) { return x; }", "f() has neither"),
        ("template <class T, int N = 4> T f(T x) { return x; }", "f() has neither"),
        ("auto f(float x) -> float { return x; }", "f() has neither"),
        ("struct S { float operator()(float x) const { return x; } };", "operator() has neither"),
        ("namespace a { struct S b(S c) noexcept { return c; } }", "b() has neither"),
        ("__host__ float f() { return 1; }", "f() has neither"),
        ("__device__ void axpy(float a) {}", "axpy() needs __global__"),
    ],
)
def test_code_of_the_host_is_named(text: str, said: str) -> None:
    (fault,) = qualifiers.faults_of(f"// One.\n{text}\n", "solution.cuh", ["axpy"])
    assert fault.startswith(f"solution.cuh:2: {said}")


@pytest.mark.parametrize(
    "text",
    [
        "struct S { float a; __device__ S(float x) : a{x} {} };",
        "__device__ float axpy(float a) { return a; }\n__global__ void axpy(int b) {}",
        "__global__ void axpy(int b);\n__device__ void axpy() {}\nvoid axpy(int b) {}",
        "__device__ auto f(float x) -> float { auto g = [](float y) { return y; }; return g(x); }",
        "constexpr float f(float x) { return x; }",
        "__device__ float f(float);\nfloat f(float x) { return x; }",
        "enum class K { a, b };\n__device__ float f(K k = {}) { return 1; }",
        "struct __align__(16) V { float x[4]; };\nconst float t[2] = {1, 2};",
        "template <bool B = (1 > 0)> __global__ void __launch_bounds__(256) axpy() {}",
    ],
)
def test_device_code_is_taken(text: str) -> None:
    assert qualifiers.faults_of(text, "solution.cuh", ["axpy"]) == []


@pytest.mark.parametrize("text", ["a{}", "({", "struct a(){}", "template<", "f(){"])
def test_declarations_are_read_in_a_moment(text: str) -> None:
    began = time.process_time()
    qualifiers.faults_of(text * (MOST_SOURCE_BYTES // len(text)), "solution.cuh", [])
    assert time.process_time() - began < 10
