"""Lab 13: a diagnosis before any code, in words and numbers; and no points for code that is as slow
as before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checker import course, notebook, show
from checker.course import Lab, read_toml
from checker.expected import traces_of_skeleton
from checker.grade import grade
from checker.predictions import grade_predictions
from checker.report import Part, Report, Submission
from checker.timeline import WALLS, seconds_by_wall
from checker.timing import grade_time, no_marks_ratios, share_of_points

from .conftest import BUILD, LABS, ROOT
from .wrong import edited

LAB = course.find(ROOT, "13")
RIGHT = read_toml(LAB.folder / "reference" / "answers.toml")
PAGE = (LAB.folder / "README.md").read_text()
POINTS = LAB.points["predictions"]
H200 = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())["figures"]


def predictions(tmp_path: Path, answers: dict[str, object]) -> tuple[list[str], Part]:
    """The questions that are open, and what these answers are worth."""
    file = tmp_path / "answers.toml"
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in answers.items()))
    part = Part("predictions", POINTS)
    is_open, _ = grade_predictions(LAB, Submission(tmp_path, file), part)
    return is_open, part


def test_a_wall_is_one_of_a_few_words(tmp_path: Path) -> None:
    is_open, part = predictions(tmp_path, RIGHT | {"wall_a": " Overhead"})
    assert (is_open, part.points) == ([], POINTS)
    for nonsense in ("?", "launches", 1, ["overhead"]):
        is_open, part = predictions(tmp_path, RIGHT | {"wall_a": nonsense})
        assert is_open == ["wall_a"], nonsense
        assert part.lines[0].startswith("open   wall_a: Which wall ")
        assert ("not one of compute, bandwidth" in part.lines[0]) == (nonsense != "?")
    assert predictions(tmp_path, RIGHT | {"share_a": "overhead"})[0] == ["share_a"]


def test_a_wrong_diagnosis_costs_its_points_and_lets_the_code_be_graded(tmp_path: Path) -> None:
    is_open, part = predictions(tmp_path, RIGHT | {"wall_b": "compute", "share_b": 12})
    assert is_open == []
    assert part.points == pytest.approx(POINTS * 4 / 6)
    assert "wrong  wall_b = compute. Think of this: " in "\n".join(part.lines)
    assert "bandwidth" not in "\n".join(part.lines)


def profile(step: str) -> list[tuple[float, float, str]]:
    """The page's lines: when it began, how long it took [us], and what it was."""
    text = PAGE.split(f"Step {step.upper()}:\n\n```\n")[1].split("\n```")[0]
    lines = re.findall(r"^ +([\d.]+) +([\d.]+)? +(\S.*)$", text, re.M)
    return [(float(began), float(took or 0), what) for began, took, what in lines]


def price(name: str) -> float:
    """A figure of the H200, in us where it is a time."""
    return H200[name]["value"] * (1e6 if name.endswith("_seconds") else 1)


def test_the_answers_follow_from_the_pages_profiles() -> None:
    """By the page's five rules, with sums that a student can do."""
    for step in "abc":
        lines = profile(step)
        whole = lines[-1][0]
        kernels = [
            (took, what.removeprefix("kernel: ")) for _, took, what in lines if "kernel" in what
        ]
        products = sum(took for took, name in kernels if name in ("small_pass", "wide_product"))
        empty = price("launch_graph_seconds" if step == "b" else "launch_stream_seconds")
        others = [
            (took, name) for took, name in kernels if name not in ("small_pass", "wide_product")
        ]
        assert all(took > 3 * empty or took < 1.1 * empty for took, _ in others), (
            "told apart at once"
        )
        moving = sum(took for took, _ in others if took > 3 * empty)
        starved = sum(took for _, took, what in lines if "wait for a thread" in what)
        taken = {"compute": products, "bandwidth": moving, "starved": starved}
        taken["overhead"] = whole - sum(taken.values())
        wall = max(taken, key=lambda name: taken[name])
        assert RIGHT[f"wall_{step}"] == wall
        assert RIGHT[f"share_{step}"] == round(100 * taken[wall] / whole)


def test_a_notebook_has_what_a_diagnosis_needs(tmp_path: Path) -> None:
    """It leaves the page's own section of predictions out."""
    out = tmp_path / "notebook.ipynb"
    notebook.write(ROOT, LAB, out)
    cells = json.loads(out.read_text())["cells"]
    text = "".join(line for cell in cells for line in cell["source"])
    for needed in ("the first that fits:\n\n1. compute", "kernel: small_update", "An empty kernel"):
        assert needed in text


@pytest.mark.parametrize(
    "device",
    [LAB.devices[0], *(pytest.param(d, marks=pytest.mark.release) for d in LAB.devices[1:])],
)
def test_a_step_has_the_same_wall_on_every_device(device: str, prepared: object) -> None:
    traces = traces_of_skeleton(LAB, BUILD, device)
    assert LAB.timeline is not None
    for step in "abc":
        taken = seconds_by_wall(traces[f"lab/timed/step:{step}"], LAB.timeline)
        wall = max(taken, key=lambda name: taken[name])
        assert RIGHT[f"wall_{step}"] == wall
        assert taken[wall] > 0.7 * sum(taken.values()), "and by far"


def test_the_pages_prices_are_the_devices() -> None:
    text = " ".join(PAGE.split())
    assert f"takes {price('launch_stream_seconds'):.3g} µs in a stream" in text
    assert f"{price('launch_graph_seconds'):.3g} µs in a CUDA graph" in text
    assert f"The host needs {price('launch_host_seconds'):.3g} µs to launch it" in text
    sync = (ROOT / "docs/concepts/host_sync.md").read_text()
    (read,) = re.findall(r"a read costs ([\d.]+) µs", sync)
    assert f"A read of one loss costs {read} µs" in text


def test_what_serves_step_b_is_what_the_page_says() -> None:
    """Five arrays stay in L2, and move faster than DRAM could."""
    mib = 2**20
    l2 = price("l2_bytes") / mib
    (array, held, holds) = map(int, re.findall(r"(\d+) MiB", PAGE)[:3])
    assert (held, holds) == (5 * array, l2)
    assert held < holds
    rates = [price("l2_bytes_per_second"), price("dram_bytes_per_second")]
    assert [f"{rate / 1e12:.1f}" for rate in rates] == re.findall(r"([\d.]+) TB/s", PAGE)
    # Each of `elementwise` reads one or two arrays and writes one.
    for _, took, what in profile("b"):
        if what == "kernel: elementwise":
            moved = 2 if took < 2.5 else 3
            rate = moved * array * mib / (1e-6 * (took - price("launch_graph_seconds")))
            assert rates[1] < rate < 1.02 * rates[0]


def test_each_step_has_another_wall() -> None:
    assert len({RIGHT[f"wall_{step}"] for step in "abc"}) == 3


def test_what_is_as_slow_as_before_gets_no_points() -> None:
    slow = no_marks_ratios(LAB, "model:h200-sxm")
    assert no_marks_ratios(LAB, "model:l40s") == slow  # which the lab does not list
    assert no_marks_ratios(LABS[0], "model:h200-sxm") == {}
    # Where a fix gains little, a part of it could not be told from none.
    assert min(slow.values()) > 1.5
    for row, ratio in slow.items():
        times = {row: {"real_time": ratio, "time_unit": "us"}}
        part = Part("time", LAB.points["time"])
        grade_time(times, {row: 1e-6}, "the reference", part, slow)
        assert part.points == pytest.approx(0)
    assert share_of_points(2, 2) == 0
    assert share_of_points(1.5, 2) == pytest.approx(0.5, abs=0.1)


def graded(solution: Path, text: str) -> Report:
    solution.write_text(text)
    answers = LAB.folder / "reference" / "answers.toml"
    return grade(LAB, Submission(solution, answers), BUILD, device="model:h200-sxm", seed=7)


@pytest.mark.release
def test_losses_may_be_written_where_they_are_wanted(prepared: list[Lab], tmp_path: Path) -> None:
    """The host's memory is mapped, so nothing is left to copy."""
    copy = (
        "  cudaMemcpyAsync(losses, on_device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);\n"
    )
    edits = [["learn(step, on_device + step, stream)", "learn(step, losses + step, stream)"]]
    raw = {"edits": [*edits, [copy, "  (void)on_device;\n"]]}
    report = graded(tmp_path / "solution.cuh", edited(LAB.reference.read_text(), raw, "mapped"))
    assert report.points == pytest.approx(100), [part.lines for part in report.parts]


@pytest.mark.release
def test_only_a_faster_step_is_told_its_walls(prepared: list[Lab], tmp_path: Path) -> None:
    """Those of a step as it was handed out are its diagnosis."""
    slow = (LAB.folder / "solution.cuh").read_text()
    said = "\n".join(graded(tmp_path / "slow.cuh", slow).part("time").lines)
    assert "per step" not in said
    fix = {"edits": [["    cudaStreamSynchronize(stream);\n", ""]]}
    said = "\n".join(graded(tmp_path / "a.cuh", edited(slow, fix, "a")).part("time").lines)
    (told,) = re.findall(r"(\S+): [\d.]+ us per step, modelled: (.*)", said)
    assert told[0] == "lab/timed/step:a"
    walls = dict(part.split() for part in told[1].split(", "))
    assert tuple(walls) == WALLS
    assert max(walls, key=lambda wall: float(walls[wall])) == "overhead"
    assert "step:b: 64.4 us" in said
    assert said.count("bound by l2") == 1


def test_a_part_without_points_says_whether_it_is_right() -> None:
    part = Part("correctness", 0, lines=["element 0 is 1"])
    assert not part.is_full
    report = Report(LAB, "model:h200-sxm", 1, [part, Part("counters", 0)])
    assert "correctness  no points for the code yet" in show.as_text(report)
    assert "counters" not in show.as_text(report)
    assert show.as_gradescope(report)["tests"][0]["status"] == "failed"
    assert show.as_summary("anna", report)["remark"] == "element 0 is 1"
    part.is_right = True
    assert "correctness  right" in show.as_text(report)
    assert show.as_gradescope(report)["tests"][0]["status"] == "passed"


@pytest.mark.parametrize("of", [{}, {"digits": 2, "choices": ["a", "b"]}])
def test_a_question_asks_for_digits_or_for_a_word(of: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="x: needs digits or choices"):
        course.read_prediction({"id": "x", "question": "?", "hint": "", **of})
