"""Plants every fault there is and writes down what becomes of each: the matrix of
docs/reliability.md. scripts/fault-matrix runs this; test_fault_matrix.py holds the page to it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .conftest import BUILD, ROOT, SHORT_ROWS, SHORT_ROWS_COUNT, run
from .faulty import DEVICE, PROGRAM, outcome, rows_in, run_faulty

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin -->\n", "<!-- faults: end -->\n"

LIMITED = {  # rows that only a limit ends
    "endless": "--row_limit=0.5",
    "host_endless": "--row_limit=0.5",
    "host_hoards": "--row_memory=400000000",
    "endless_loads": "--row_limit=0.5",
}
NOT_PLANTED = ("sound_", "claims_truth", "always/n:2", "always/n:3", "always/n:5")
# All concepts take too long here: test_faults.py sweeps them under --all.
SWEPT = "^[a-f]"
ERRORS = {  # that a kernel's launch can leave behind: cudaError_t
    700: "illegal address",
    716: "misaligned address",
    717: "invalid address space",
    718: "invalid program counter",
    710: "assertion",
    714: "hardware stack error",
    715: "illegal instruction",
    719: "launch failure",
    702: "launch timeout",
    214: "uncorrectable ECC error",
    220: "uncorrectable NVLink error",
    46: "device unavailable",
    100: "device gone",
    709: "context destroyed",
    802: "system not ready",
    999: "unknown error",
}


@dataclass(frozen=True)
class Line:
    """One fault and its outcome."""

    group: str
    fault: str
    outcome: str


def short(text: str) -> str:
    """The outcome without what is of this row alone."""
    text = text.replace("the process that ran it ", "its process ")
    return text if len(text) <= 150 else text[:147] + "..."


def of_rows(rows: dict[str, dict[str, Any]]) -> Iterator[Line]:
    for name, row in rows.items():
        if name.startswith(NOT_PLANTED):
            continue
        ended = outcome(row)
        if ended == "measured" and (notes := row.get("notes")):
            ended = f"measured, with a note: {notes[0]}"
        elif ended == "measured":
            ended = "measured, graded " + ("low" if row["law_ratio"] < 1 else "suspiciously high")
        yield Line("a row's own fault", name.replace("_", " "), short(ended))


def broken_rows(folder: Path) -> dict[str, dict[str, Any]]:
    out = folder / "broken.json"
    left_out = "|".join(LIMITED)
    command = [str(PROGRAM), DEVICE, f"--benchmark_filter=-^faulty/({left_out})$"]
    subprocess.run(
        [*command, f"--benchmark_out={out}"], capture_output=True, check=False, timeout=300
    )
    return rows_in(out)


def limited_rows(folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for row, limit in LIMITED.items():
        out = folder / f"{row}.json"
        run_faulty(row, out, limit)
        found |= rows_in(out)
    return found


def planted_errors(folder: Path) -> Iterator[Line]:
    for code, words in ERRORS.items():
        conditions = folder / f"error-{code}.json"
        planted = {"kernel": "", "launch": 3, "error": code}
        conditions.write_text(json.dumps({"ordering": {"fault": planted}}))
        out = folder / f"error-{code}.run.json"
        rows = "--benchmark_filter=^bank_conflicts/strided/bytes:4/"
        done = run(DEVICE, rows, f"--conditions={conditions}", f"--benchmark_out={out}")
        kinds = [
            r["error_kind"] for r in json.loads(out.read_text())["benchmarks"] if "error_kind" in r
        ]
        ended = f"failed, {kinds[0]}; exit code {done.returncode}"
        yield Line("an error that a kernel leaves behind", f"{words} ({code})", ended)


def signals(folder: Path) -> Iterator[Line]:
    for name in ("KILL", "TERM", "INT", "HUP", "XCPU", "PIPE"):
        out = folder / f"{name}.json"
        number = int(getattr(signal, f"SIG{name}"))
        command = [str(BUILD / "gpubench"), DEVICE, SHORT_ROWS, f"--benchmark_out={out}"]
        # Not as nohup, or a shell's &, would have it.
        usual = lambda number=number: signal.signal(number, signal.SIG_DFL)  # noqa: E731
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=usual if name != "KILL" else None
        ) as process:
            assert process.stdout is not None
            for _ in range(12):
                process.stdout.readline()
            process.send_signal(number)
            process.communicate(timeout=60)
        code = process.returncode
        again = run(DEVICE, SHORT_ROWS, f"--resume={out}")
        missing = SHORT_ROWS_COUNT - len(json.loads(out.read_text())["benchmarks"])
        ended = "ended by it" if code < 0 else f"exit code {code}"
        said = f"{ended}; resumed with exit code {again.returncode}, {missing} rows missing"
        yield Line("a signal in mid run", f"SIG{name}", said)


def sites() -> Iterator[Line]:
    """For each function of the interface, how many places call it, and what became of the
    rows when the call from there failed."""
    command = [str(BUILD / "gpubench-call-faults"), SWEPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Counter[str]] = {}
    for line in map(json.loads, done.stdout.splitlines()):
        ended = "wrong" if "wrong" in line else line["outcome"]
        found.setdefault(line.get("function", "a row afterwards"), Counter())[ended] += 1
    for function, outcomes in sorted(found.items()):
        count = sum(outcomes.values())
        ended = ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items()))
        places = "1 place" if count == 1 else f"{count} places"
        yield Line("a call that fails once", f"{function}, from {places}", ended)


def of_gpu_half(folder: Path) -> Iterator[Line]:
    """What the tests of the GPU's half record, whose calls fail on the model's runtime."""
    report = folder / "harness_tests.json"
    wanted = "--gtest_filter=DeviceLimits.*:CallFailures.*:CublasLt.*"
    command = [str(BUILD / "harness_tests"), wanted, f"--gtest_output=json:{report}"]
    subprocess.run(command, capture_output=True, check=False)
    for suite in json.loads(report.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            if "fault" in test:
                ended = "the test fails" if "failures" in test else test["outcome"]
                yield Line("a GPU, its driver and its libraries", test["fault"], short(ended))


def matrix(folder: Path) -> list[Line]:
    lines = list(of_rows(broken_rows(folder) | limited_rows(folder)))
    lines += planted_errors(folder)
    lines += signals(folder)
    lines += of_gpu_half(folder)
    return lines + list(sites())


def block(lines: list[Line]) -> str:
    text = [
        f"{len(lines)} faults:",
        "",
        "| what breaks | fault | what becomes of it |",
        "|---|---|---|",
    ]
    for line in lines:
        cells = (line.group, line.fault, line.outcome)
        text.append("| " + " | ".join(re.sub(r"[|\n]", " ", cell) for cell in cells) + " |")
    return "\n".join(text) + "\n"


def written() -> list[str]:
    """The lines of the page's matrix."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        text = block(matrix(Path(folder)))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + text + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
