"""No C++ or CUDA file is over 400 lines, no function over 60."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "harness", "kernels", "labs", "tests")
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
# What is still to be split, by its lines (of the longest function): none of it may grow.
TOO_LONG_FILES = {
    "harness/devices/device.cpp": 559,
    "harness/platform/model/emulator/block_runner.cpp": 1408,
    "harness/platform/model/emulator/block_runner.hpp": 435,
    "harness/platform/model/engine/emulator.cpp": 695,
    "harness/platform/model/runtime/api.cpp": 423,
    "kernels/attention.cuh": 423,
    "tests/harness/device_spec_test.cpp": 550,
    "tests/harness/timer_test.cpp": 452,
    "tests/model/emulator_kernels.cpp": 542,
    "tests/model/emulator_test.cpp": 712,
    "tests/model/runtime_test.cpp": 1418,
    "tests/model/small_float_test.cpp": 413,
    "tests/model/time_model_test.cpp": 482,
}
TOO_LONG_FUNCTIONS = {
    "harness/devices/device.cpp": 83,
    "harness/platform/model/emulator/block_runner.cpp": 81,
    "harness/platform/model/emulator/flow_graph.cpp": 94,
    "harness/platform/model/engine/emulator.cpp": 156,
    "harness/platform/model/include/float16.h": 82,
    "harness/platform/model/runtime/runtime_device.cpp": 65,
    "harness/platform/model/runtime/runtime_kernels.cpp": 62,
    "harness/platform/model/time/cache_model.cpp": 75,
    "harness/platform/model/time/time_model.cpp": 225,
    "kernels/attention.cuh": 63,
    "kernels/gemm_ladder/wgmma_tma.cuh": 67,
    "labs/10-flash-attention/reference/solution.cuh": 76,
    "tests/model/runtime_test.cpp": 91,
}

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
    allowed = {name: TOO_LONG_FILES.get(name, MOST_FILE_LINES) for name in lines}
    assert {name: n for name, n in lines.items() if n > allowed[name]} == {}
    assert {name for name in TOO_LONG_FILES if lines.get(name, 0) <= MOST_FILE_LINES} == set()


def test_no_function_is_longer_than_sixty_lines():
    wrong = []
    for file in sources():
        name = str(file.relative_to(ROOT))
        allowed = TOO_LONG_FUNCTIONS.get(name, MOST_FUNCTION_LINES)
        found = functions(file.read_text())
        wrong += [
            f"{name}:{begins} has {lines} lines" for begins, lines in found if lines > allowed
        ]
    assert wrong == []


def test_lines_are_counted_from_brace_to_brace():
    lines = ["namespace a {", "struct B {", '  int c() {  // "}"', "    if (d) {", "    }"]
    text = "\n".join([*lines, "    return 1;", "  }", "};", "}"])
    assert functions(text) == [(3, 5)]


def test_tables_and_aligned_classes_are_no_functions():
    text = "constexpr int a[] = {\n  1,\n};\nstruct alignas(8) B {\n  int c() {\n  }\n};\n"
    assert functions(text) == [(5, 2)]
