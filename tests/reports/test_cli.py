"""The commands as a user meets them: files, exit codes, tables, help."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from gpubench_reports.charts.render import chart_names
from gpubench_reports.commands.command_line import main
from gpubench_reports.common import files
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically

from .factory import (
    DRAM,
    bandwidth_row,
    make_document,
    make_large_document,
    make_row,
    roofline_rows,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_render_writes_every_chart_beside_the_file_and_prints_the_paths(write, tmp_path, capsys):
    path = write(make_document(), "night.json")
    assert main(["render", str(path)]) == 0
    folder = tmp_path / "night-charts"
    expected = [
        f"{stem}.{suffix}"
        for stem in ("roofline", "roofs", "concept-coalescing", "concept-roofline")
        for suffix in ("png", "svg")
    ]
    assert capsys.readouterr().out.split() == [str(folder / name) for name in expected]
    assert names(folder) == sorted(expected)
    for name in expected:
        content = (folder / name).read_bytes()
        if name.endswith("png"):
            assert content.startswith(b"\x89PNG")
        else:
            assert ElementTree.fromstring(content).tag.endswith("svg")


def test_charts_are_the_same_bytes_every_time(write, tmp_path):
    path = write(make_document(roofline_rows()[:3], device_kind="model"))
    for folder in ("one", "two"):
        assert main(["render", str(path), "--out", str(tmp_path / folder)]) == 0
    for name in names(tmp_path / "one"):
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert first == second, name


def test_charts_of_an_earlier_file_do_not_stay_among_those_of_this_one(write, tmp_path, capsys):
    path = write(make_document([bandwidth_row("a/b/n:1", 1e9)], roofs=[]))
    for folder in ("run-charts", "out"):
        (tmp_path / folder).mkdir()
        for name in ("concept-old.png", "notes.txt"):
            (tmp_path / folder / name).touch()
    drawn = ["concept-a.png", "concept-a.svg", "notes.txt"]
    assert main(["render", str(path)]) == 0
    assert names(tmp_path / "run-charts") == drawn
    capsys.readouterr()
    out = tmp_path / "out"
    assert main(["render", str(path), "--out", str(out)]) == 0
    assert names(out) == sorted([*drawn, "concept-old.png"])
    line = f"gpubench-report: {out} also holds charts of other files: concept-old.png\n"
    assert line in capsys.readouterr().err


def test_odd_names_are_drawn_and_stay_in_their_folder(write, tmp_path, capsys):
    rows = [
        bandwidth_row(f"{concept}/k/n:{n}", 1e9) | {"concept": concept}
        for concept in ("../../etc", "größe $x^2$ <&>", "größe_$x^2$ <&>")
        for n in (1, 2)
    ]
    numbered = [row | dict.fromkeys(("name", "run_name"), str(i)) for i, row in enumerate(rows)]
    path = write(make_document(numbered, roofs=[]))
    assert main(["render", str(path), "--out", str(tmp_path / "out")]) == 0
    assert names(tmp_path) == ["out", "run.json"]
    assert len(names(tmp_path / "out")) == 6
    for name in names(tmp_path / "out"):
        assert re.fullmatch(r"concept-[A-Za-z0-9._-]+\.(png|svg)", name)


def test_chart_names_never_meet():
    found = chart_names(["a b", "a_b", "A_B", "", "x" * 300])
    assert len({name.lower() for name in found.values()}) == 5
    assert all(len(name) < 100 for name in found.values())


def test_nothing_to_draw(write, capsys):
    path = write(make_document([{"name": "a/b", "skipped": True, "skip_reason": "no"}], roofs=[]))
    assert main(["render", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"gpubench-report: {path}: has nothing to draw: every row was skipped or failed\n"
    )


def test_a_folder_that_cannot_be_is_one_line(write, tmp_path, capsys):
    path = write(make_document())
    for command in (["render", str(path)], ["compare", str(path), str(path)]):
        assert main([*command, "--out", str(path)]) == 2
        assert capsys.readouterr().err == (
            f"gpubench-report: {path}: cannot write here: File exists\n"
        )
        assert main([*command, "--out", str(path / "below")]) == 2
        assert capsys.readouterr().err == (
            f"gpubench-report: {path / 'below'}: cannot write here: Not a directory\n"
        )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_line(write, tmp_path, capsys):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert main(["render", str(write(make_document())), "--out", str(closed)]) == 2
    assert capsys.readouterr().err == (
        f"gpubench-report: {closed}: cannot write here: Permission denied\n"
    )


def test_a_write_that_breaks_leaves_the_old_file_and_no_scraps(tmp_path, monkeypatch):
    target = tmp_path / "chart.png"
    write_atomically(target, b"old")

    def full(self, other):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "replace", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["chart.png"]


def table(write, capsys, rows, **context) -> list[str]:
    assert main(["table", str(write(make_document(rows, **context)))]) == 0
    return capsys.readouterr().out.splitlines()


def test_table_shows_figures_with_prefixes_and_the_error_of_the_prediction(write, capsys):
    row = bandwidth_row(
        "coalescing/strided_read/stride:1",
        4.0e12,
        law=5e12,
        roof_fraction=0.91,
        model_seconds=2.6e-4,
    )
    lines = table(write, capsys, [row])
    header = next(line for line in lines if line.startswith(" name"))
    assert re.split(r"\s{2,}", header.strip()) == [
        "name",
        "grade",
        "time",
        "useful",
        "law ratio",
        "of roof",
        "predicted",
        "its error",
        "bound",
    ]
    (line,) = [line for line in lines if line.startswith(" coalescing/strided_read")]
    assert re.split(r"\s{2,}", line.strip()) == [
        "coalescing/strided_read/stride:1",
        "low",
        "250 µs",
        "4.00 TB/s",
        "0.800",
        "91.0 %",
        "260 µs",
        "+4.0 %",
        "dram",
    ]


def test_table_lists_skipped_and_failed_rows_and_says_modelled(write, capsys):
    lines = table(
        write,
        capsys,
        [
            make_row("a/b"),
            {"name": "a/c", "skipped": True, "skip_reason": "needs 64 GiB"},
            {"name": "a/d", "error_occurred": True, "error_message": "element 17 is 3"},
        ],
        device_kind="model",
    )
    assert lines[0] == "NVIDIA H200 SXM 141 GB · modelled · 2026-11-21 04:40 · cold"
    assert "MODELLED" in lines[1]
    assert lines[-4:] == ["1 skipped", "  a/c: needs 64 GiB", "1 FAILED", "  a/d: element 17 is 3"]


def test_table_marks_rows_to_doubt(write, capsys):
    lines = table(write, capsys, [make_row("a/b", converged=0, throttled=1), make_row("a/c")])
    (line,) = [line for line in lines if " a/b" in line]
    assert line.split()[-2:] == ["1", "2"]
    assert lines[lines.index("notes") + 1 :][:2] == ["  1  not converged", "  2  throttled"]


def test_markup_in_names_is_text(write, capsys):
    lines = table(write, capsys, [make_row("a/[bold]b[/bold]") | {"kernel": "[/]"}])
    assert any("a/[bold]b[/bold]" in line for line in lines)


def test_a_reader_that_stops_is_no_error(write):
    path = write(make_large_document())
    command = f"set -o pipefail; '{sys.executable}' -m gpubench_reports table '{path}' | head -1"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("NVIDIA H200")
    assert done.stderr == ""


def test_a_plain_terminal_gets_question_marks_not_a_traceback(write):
    path = write(make_document([make_row("größe/κ")]))
    done = subprocess.run(
        [sys.executable, "-m", "gpubench_reports", "table", str(path)],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert b"gr??e" in done.stdout or b"gr?" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["render", "table", "compare"])
def test_help_teaches(command, capsys):
    for arguments, words in (
        (["--help"], ["render", "table", "compare", "examples:", "Exit code"]),
        ([command, "--help"], ["--help", ".json"]),
    ):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        output = capsys.readouterr().out
        assert all(word in output for word in words)


def test_wrong_commands_are_two(capsys):
    for arguments in ([], ["paint"], ["render"], ["table", "a", "b"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        assert "gpubench-report" in capsys.readouterr().err


def test_the_package_under_test_is_this_checkouts():
    ours = Path(__file__).resolve().parents[2] / "reports"
    program = "import gpubench_reports; print(gpubench_reports.__file__)"
    started = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    for place in (files.__file__, started.stdout.strip()):
        assert Path(place).is_relative_to(ours)


MOST_STEPS = 4_000_000  # several times what is needed: where that is not enough, nobody waits


def steps_of(write, rows: int) -> int:
    """What it takes to read and render a sweep of so many rows, in lines of this package and calls
    anywhere: a machine's load changes nothing of that."""
    sweep = [
        bandwidth_row(f"coalescing/read/stride:{n}", DRAM / n, DRAM / n) for n in range(1, rows + 1)
    ]
    path = write(make_document(sweep, roofs=[]))
    ours = str(Path(files.__file__).parent)
    count = 0

    def counted(frame, event, _argument):
        nonlocal count
        count += event in ("call", "line")
        assert count < MOST_STEPS
        return counted if frame.f_code.co_filename.startswith(ours) else None

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        assert main(["render", str(path)]) == 0
    finally:
        sys.settrace(before)
    return count


def test_what_rendering_takes_grows_with_the_rows_and_not_with_their_square(write):
    steps_of(write, 8)  # what is loaded once
    small, middle, large = (steps_of(write, rows) for rows in (32, 64, 128))
    # What does not depend on the rows is in neither difference: 2 by the rows, 4 by their square.
    assert (large - middle) / (middle - small) < 2.5


def test_a_piped_table_has_each_note_once_below_it(write, capsys):
    note = "not gated: the body may block the host; it copies"
    rows = [bandwidth_row(f"a/b/n:{n}", DRAM, DRAM, note=f"own {n % 2}; {note}") for n in range(6)]
    lines = table(write, capsys, rows)
    assert sum(note in line for line in lines) == 1
    begin = lines.index("notes")
    assert lines[begin + 1 : begin + 4] == ["  1  own 0", f"  2  {note}", "  3  own 1"]
    shown = [line.split()[-2:] for line in lines if " a/b/n:" in line]
    assert shown == [["1", "2"], ["3", "2"]] * 3
    assert max(map(len, lines)) < 160


def test_the_label_stands_behind_what_figures_say_more_exactly(write, capsys):
    row = make_row("host_sync/read/n:1", label="fp32", lost_fraction=0.25)
    (line,) = [line for line in table(write, capsys, [row]) if "host_sync" in line]
    assert line.rstrip().endswith("the host (fp32)")


@pytest.mark.parametrize("command", ["html", "import"])
def test_a_file_is_not_written_into_a_folder_that_is_not_there(write, tmp_path, capsys, command):
    path = write(make_document([make_row("a/b")]))
    out = tmp_path / "missing" / "x"
    extra = ["--from=babelstream"] if command == "import" else []
    if command == "import":
        path = Path(__file__).parent.parent / "data" / "imports" / "babelstream.csv"
    assert main([command, *extra, str(path), "-o", str(out)]) == 2
    assert capsys.readouterr().err == f"gpubench-report: {out.parent}: no such folder\n"
    assert not out.parent.exists()


def test_points_are_a_folder(write, tmp_path, capsys):
    path = write(make_document())
    for place, why in ((path, "not a folder"), (tmp_path / "missing", "no such folder")):
        assert main(["published", str(place)]) == 2
        expected = f"{place}: {why}: expected a folder of points files (*.json)"
        assert capsys.readouterr().err == f"gpubench-report: {expected}\n"


def test_a_table_for_other_programs(write, capsys):
    rows = [
        bandwidth_row("a/b/n:1", DRAM, DRAM),
        bandwidth_row("a/b/n:2", DRAM / 4, DRAM, throttled=1),
        make_row("a/b/n:3") | {"skipped": True, "skip_reason": "no room"},
    ]
    assert main(["table", "--json", str(write(make_document(rows)))]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["device"], found["modelled"], found["healthy"]) == ("h200-sxm", False, False)
    assert found["grades"] == {"as expected": 1, "low": 1}
    good, low, skipped = found["rows"]
    assert (good["grade"], good["unit"], good["of_roof"]) == ("as expected", "B/s", 1)
    assert good["value"] == pytest.approx(DRAM)
    assert good["low"] < good["value"] < good["high"]
    assert low["share"] == pytest.approx(0.25)
    assert low["why"] == ["the clock was throttled while the row ran (power or temperature)"]
    assert skipped == {
        "name": "a/b/n:3",
        "concept": "a",
        "status": "skipped",
        "reason": "no room",
    }


COMMANDS = (["table"], ["table", "--json"], ["csv"], ["markdown"], ["claims"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line(write, command):
    path = write(make_document([make_row("a/b/n:1")]))
    run = [sys.executable, "-m", "gpubench_reports", *command, str(path)]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "gpubench-report: standard output: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_who_has_seen_enough_is_no_error(write, command):
    # More than a pipe holds, for whoever prints as it goes.
    path = write(make_document([make_row(f"a/b/n:{n}") for n in range(600)]))
    run = [sys.executable, "-m", "gpubench_reports", *command, str(path)]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ended:
        assert ended.stdout
        assert ended.stderr
        ended.stdout.close()
        assert ended.stderr.read() == ""
        assert ended.wait() == 0
