"""No C++ or CUDA file is over 400 lines, no function over 60, and most bench files fit in 110."""

import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "harness", "kernels", "labs", "tests")
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MEDIAN_BENCH_LINES = 110
LITERALS = re.compile(
    r'R"(?P<tag>[^(]*)\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
# What stands before the brace of a scope that functions are defined in, or of a table of values.
SCOPE = re.compile(
    r"\b(namespace|class|struct|union|enum|extern)\b(?:alignas\([^()]*\)|[^;(){}])*$|=\s*$"
)


def without_literals(text: str) -> str:
    """The text with comments, strings and characters blanked; its lines stay where they are."""
    return LITERALS.sub(lambda m: "\n" * m.group().count("\n") or " ", text)


def functions(text: str) -> list[tuple[int, int]]:
    """(first line, lines) of each outermost function body, from its opening brace's line on."""
    found, scopes, head = [], [], ""
    line = begins = 1
    for c in without_literals(text):
        if c == "\n":
            line += 1
        if c == "{":
            if SCOPE.search(head):
                scopes.append("scope")
            else:
                if "body" not in scopes:
                    begins = line
                scopes.append("body")
            head = ""
        elif c == "}":
            if scopes and scopes.pop() == "body" and "body" not in scopes:
                found.append((begins, line - begins + 1))
            head = ""
        elif c == ";":
            head = ""
        else:
            head += c
    return found


def sources() -> list[Path]:
    files = (f for folder in FOLDERS for f in (ROOT / folder).rglob("*"))
    return sorted(f for f in files if f.suffix in SUFFIXES)


def test_no_file_is_longer_than_two_screens_of_two_hundred_lines():
    lines = {str(f.relative_to(ROOT)): len(f.read_text().splitlines()) for f in sources()}
    assert {name: n for name, n in lines.items() if n > MOST_FILE_LINES} == {}


def test_no_function_is_longer_than_sixty_lines():
    wrong = []
    for file in sources():
        name = str(file.relative_to(ROOT))
        wrong += [
            f"{name}:{begins} has {lines} lines"
            for begins, lines in functions(file.read_text())
            if lines > MOST_FUNCTION_LINES
        ]
    assert wrong == []


def test_half_of_the_bench_files_have_at_most_110_lines():
    lines = {f.name: len(f.read_text().splitlines()) for f in (ROOT / "bench").glob("*.cu")}
    assert median(lines.values()) <= MEDIAN_BENCH_LINES, sorted(lines.items(), key=lambda f: f[1])


def test_no_lambda_registers_rows():
    """Registrations stand in the open, as GPU_BENCHMARK..., or in a function given to Apply()."""
    hidden = re.compile(
        r"(gpubench::record\(|^(\[\[maybe_unused\]\] )?(static )?const bool \w+ = \[)", re.M
    )
    assert [
        f.name
        for f in sorted((ROOT / "bench").glob("*.cu"))
        if hidden.search(without_literals(f.read_text()))
    ] == []


def test_lines_are_counted_from_brace_to_brace():
    lines = ["namespace a {", "struct B {", '  int c() {  // "}"', "    if (d) {", "    }"]
    text = "\n".join([*lines, "    return 1;", "  }", "};", "}"])
    assert functions(text) == [(3, 5)]


def test_tables_and_aligned_classes_are_no_functions():
    text = "constexpr int a[] = {\n  1,\n};\nstruct alignas(8) B {\n  int c() {\n  }\n};\n"
    assert functions(text) == [(5, 2)]
