"""The picture of one warp's requests, and the file it is drawn from."""

import copy
import json
from typing import Any

import pytest

from gpubench_reports.charts import warp_chart
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.explanations import read

from .factory import make_document, make_row


def global_access(stride: int, offset: int = 0, bytes_: int = 4, lanes: int = 32) -> dict[str, Any]:
    """Lane i asks for `bytes_` bytes at `offset` + i * stride."""
    at = [offset + lane * stride for lane in range(lanes)]
    sectors = {byte // 32 for begin in at for byte in range(begin, begin + bytes_)}
    return {
        "where": "kernel.cuh:7",
        "space": "global",
        "kind": "load",
        "bytes": bytes_,
        "place": "an allocation of 4096 bytes",
        "requests": 8,
        "active_lanes": lanes,
        "sectors_per_request": len(sectors),
        "ideal_sectors_per_request": 4,
        "lanes": [{"lane": lane, "offset": begin} for lane, begin in enumerate(at)],
    }


def shared_access(ways: int) -> dict[str, Any]:
    """`ways` lanes wait for each of 32 / ways banks."""
    table: list[list[int | None]] = [[None] * 32 for _ in range(ways)]
    for lane in range(32):
        table[lane // (32 // ways)][lane % (32 // ways) * ways] = lane
    return {
        "where": "kernel.cuh:9",
        "space": "shared",
        "kind": "store",
        "bytes": 4,
        "place": "'tile'",
        "requests": 1,
        "active_lanes": 32,
        "wavefronts_per_request": ways,
        "ideal_wavefronts_per_request": 1,
        "lanes": [{"lane": lane, "offset": lane * ways * 4} for lane in range(32)],
        "wavefronts": table,
    }


def explained(*accesses: dict[str, Any]) -> dict[str, Any]:
    context = make_document(device_kind="model")["context"]
    entry = {
        "name": "coalescing/strided_read/stride:4",
        "kernel": "strided_read",
        "block": [0, 0, 0],
        "warp": 0,
        "accesses": list(accesses),
    }
    return {"context": context, "explanations": [entry]}


@pytest.fixture
def draw(write):
    """draw(access...) -> figure, through a file like any other."""

    def build(*accesses: dict[str, Any]):
        _, explanations = read(write(explained(*accesses), "run.explain.json"))
        return warp_chart.build(explanations[0])

    return build


def cells(axes, gid: str) -> list[tuple[int, int]]:
    return [
        (int(patch.get_x()), int(patch.get_y())) for patch in axes.patches if patch.get_gid() == gid
    ]


@pytest.mark.parametrize(
    ("stride", "asked", "fetched", "rows"),
    [
        (4, 32, 0, 1),
        (8, 32, 32, 2),
        (16, 32, 96, 4),
        (32, 32, 224, 8),
        (128, 32, 224, 32),
    ],
)
def test_what_is_fetched_beside_what_is_asked_for(draw, stride, asked, fetched, rows):
    axes = draw(global_access(stride)).axes[0]
    assert len(cells(axes, "asked")) == asked
    assert len(cells(axes, "fetched")) == fetched
    assert len(axes.get_yticks()) == rows
    assert len(axes.patches) == rows * 32


def test_each_lane_stands_on_its_words(draw):
    axes = draw(global_access(16, offset=8, bytes_=8, lanes=4)).axes[0]
    assert cells(axes, "asked") == [
        (2, 0),
        (3, 0),
        (6, 0),
        (7, 0),
        (10, 0),
        (11, 0),
        (14, 0),
        (15, 0),
    ]
    texts = [text.get_text() for text in axes.texts if text.get_gid() == "lane"]
    assert texts == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_a_broadcast_counts_its_lanes(draw):
    axes = draw(global_access(0)).axes[0]
    assert cells(axes, "asked") == [(0, 0)]
    assert [t.get_text() for t in axes.texts if t.get_gid() == "lane"] == ["0+31"]


@pytest.mark.parametrize("ways", [1, 2, 8, 32])
def test_a_row_a_wavefront(draw, ways):
    axes = draw(shared_access(ways)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        f"wavefront {i}" for i in range(1, ways + 1)
    ]
    assert len(cells(axes, "asked")) == 32
    assert f"{ways} wavefronts per request, ideal 1" in axes.get_title(loc="left")


def test_many_rows_are_cut_and_counted(draw):
    axes = draw(global_access(128, offset=126)).axes[0]  # every lane on two lines
    assert len(axes.get_yticks()) == warp_chart.MOST_ROWS
    assert [t.get_text() for t in axes.texts if t.get_gid() == "more"] == ["and 1 more rows"]


def test_render_draws_a_panel_an_access_and_marks_the_model(write, tmp_path, capsys):
    document = explained(global_access(16), shared_access(4))
    path = write({"context": document["context"], "benchmarks": [make_row("a/b")]})
    write(document, "run.explain.json")
    assert main(["render", str(path)]) == 0
    written = capsys.readouterr().out.split()
    assert [str(tmp_path / f"run-charts/warp-1.{suffix}") for suffix in ("png", "svg")] == [
        name for name in written if "warp" in name
    ]
    svg = (tmp_path / "run-charts/warp-1.svg").read_text()
    assert svg.count('id="access"') == 2
    assert 'id="watermark"' in svg


def test_an_older_runs_explanation_is_not_drawn(write, capsys):
    document = explained(global_access(16))
    write(document, "run.explain.json")
    path = write(
        make_document([make_row("a/b")], device_kind="model", date="2030-01-01T00:00:00+00:00")
    )
    assert main(["render", str(path)]) == 0
    assert "warp" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("space", "local", "'space' must be"),
        ("lanes", [], "'lanes' must be a list"),
        ("lanes", [{"lane": 32, "offset": 0}], "'lane' must be a whole number from 0 to 31"),
        ("lanes", [{"lane": 1, "offset": 0.5}], "'offset' must be a whole number"),
        ("wavefronts", [[None] * 31], "'wavefronts' must be a list of lists of 32"),
        ("wavefronts", [[None] * 32], "'wavefronts' belong to shared memory"),
        ("bytes", 0, "'bytes' must be positive"),
        ("sectors_per_request", "4", "'sectors_per_request' must be a number"),
    ],
)
def test_damage_is_named(write, key, value, says):
    document = copy.deepcopy(explained(global_access(4)))
    document["explanations"][0]["accesses"][0][key] = value
    with pytest.raises(ReportError, match=r"explanation 0, access 0: ") as error:
        read(write(json.dumps(document), "run.explain.json"))
    assert says in str(error.value)


def test_a_measured_row_opens_the_pictures_of_another_run(write, capsys):
    rows = [make_row("coalescing/strided_read/stride:4"), make_row("a/b/n:1")]
    run = write(make_document(rows))
    lanes = write(explained(global_access(16)), "lanes.explain.json")
    assert main(["html", str(run), f"--explained={lanes}"]) == 0
    page = run.with_suffix(".html").read_text()
    assert page.count('href="#chart-warp-1"') == 1
    assert '<figure id="chart-warp-1">' in page
    assert "MODELLED, not measured" in page[page.index('<figure id="chart-warp-1">') :]
    capsys.readouterr()
    other = write(make_document(rows[1:]), "other.json")
    assert main(["html", str(other), f"--explained={lanes}"]) == 2
    assert capsys.readouterr().err.endswith(f"lanes.explain.json: explains no row of {other}\n")
