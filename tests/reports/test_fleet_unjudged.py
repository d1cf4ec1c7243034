"""A fleet of which nothing could be judged is not called healthy."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.fleet import judging
from gpubench_reports.fleet.judging import Group

from .factory import make_document, make_row

pytestmark = pytest.mark.filterwarnings("error")  # as those of a mean of nothing
GPUS, SLOW = 12, 5
TOO_FEW = "h200-sxm: not judged: too few rows that 4 GPUs have"


def write(folder: Path, rows_of, again: bool = False) -> Path:
    """A result file per GPU, and again a second: rows_of(GPU, how many times as long it takes)."""
    folder.mkdir()
    for run in range(1 + again):
        for gpu in range(GPUS):
            factor = (5 if gpu == SLOW else 1) * (1 + 0.002 * ((gpu * 7 + run) % GPUS) / GPUS)
            document = make_document(
                rows_of(gpu, factor),
                roofs=[],
                date=f"2026-11-2{run}T04:40:00+00:00",
                device_state={"uuid": f"GPU-{gpu}"},
            )
            (folder / f"n1-gpu{gpu}.{run}.json").write_text(json.dumps(document))
    return folder


def few(count):
    return lambda _, factor: [make_row(f"stream/copy/n:{n}", 1e-3 * factor) for n in range(count)]


def others_everywhere(gpu, factor):
    return [make_row(f"stream/copy/n:{gpu * 10 + n}", 1e-3 * factor) for n in range(9)]


def means_only(_, factor):
    mean = {"run_type": "aggregate", "aggregate_name": "mean", "run_name": "stream/copy/n:1"}
    return [make_row("stream/copy/n:1", 1e-3 * factor) | mean | {"name": "stream/copy/n:1_mean"}]


def skipped(_gpu, _factor):
    return [{"name": "a/b", "skipped": True, "skip_reason": "needs 2 GPUs"}]


@pytest.mark.parametrize("rows_of", [few(1), few(2), others_everywhere, means_only, skipped])
def test_too_few_rows_are_no_healthy_fleet(tmp_path: Path, capsys, rows_of):
    sweep = write(tmp_path / "sweep", rows_of)
    assert main(["fleet", str(sweep), "-o", str(tmp_path / "page.html")]) == 2
    out, err = capsys.readouterr()
    assert TOO_FEW in out
    assert "nothing could be judged" in out
    assert "nothing found" not in out
    assert err == ""
    assert "nothing could be judged" in (tmp_path / "page.html").read_text()
    if rows_of is skipped:
        assert "of other rows, most were skipped: needs 2 GPUs" in out


@pytest.mark.parametrize(("count", "again"), [(3, False), (1, True)])
def test_the_fewest_rows_that_can_be_judged_are(tmp_path: Path, capsys, count, again):
    assert main(["fleet", str(write(tmp_path / "sweep", few(count), again))]) == 1
    out = capsys.readouterr().out
    assert f"slow GPU n1/gpu{SLOW}: +" in out
    assert "not judged" not in out


def test_a_gpu_with_other_rows_than_its_peers_is_named_as_not_judged(tmp_path: Path, capsys):
    def rows_of(gpu, factor):
        own = {9: "x/copy/n:0", 10: "x/copy/n:1", 11: "y/copy/n:0"}
        names = [own[gpu]] if gpu in own else [f"{gpu % 2}/copy/n:{n}" for n in range(3)]
        return [make_row(name, 1e-3 * factor) for name in names]

    assert main(["fleet", str(write(tmp_path / "sweep", rows_of))]) == 1
    out = capsys.readouterr().out
    assert f"slow GPU n1/gpu{SLOW}" in out
    assert "h200-sxm: n1/gpu10, n1/gpu11, n1/gpu9 not judged: too few rows" in out


def test_what_is_judgeable_is_what_could_be_found():
    rng = np.random.default_rng(1)
    for rows, runs in ((1, 1), (2, 1), (3, 1), (1, 2), (5, 1)):
        for groups in ([Group("all", np.arange(rows))], []):
            excess = 0.002 * rng.standard_normal((GPUS, rows))
            excess[SLOW] += 1
            counts = np.full(GPUS, runs)
            found = judging.named(judging.judge(excess, groups, counts).p)[SLOW]
            assert judging.judgeable(excess, groups, counts)[SLOW] == found, (rows, runs, groups)
