"""Published trainings: how their figures are read, and the page that states the errors."""

import json
import shutil
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs import machine as machines
from gpubench_reports.jobs.machine import machine_of
from gpubench_reports.jobs.trainings import (
    compare_trainings,
    read_trainings,
    simulate_training,
)
from gpubench_reports.results.reader import read

from .factory import make_document
from .jobs import machine, rows

ROOT = Path(__file__).parents[2]
POINTS = ROOT / "tests/data/trainings"
GALLERY = ROOT / "reports/gallery"
FILES = [GALLERY / f"{device}-job.json" for device in ("h100-sxm", "a100-80-sxm")]
PAGE = ROOT / "docs/jobs.md"


@pytest.fixture(scope="module")
def compared():
    known = {result.context.device: machine_of(result) for result in map(read, FILES)}
    return compare_trainings(read_trainings(POINTS), known)


def test_the_page_shows_what_the_command_prints(tmp_path, capsys):
    copy = shutil.copy(PAGE, tmp_path)
    command = ["job", *map(str, FILES), "--published", str(POINTS), "--page", str(copy)]
    assert main(command) == 0
    assert capsys.readouterr().out in Path(copy).read_text()
    assert Path(copy).read_text() == PAGE.read_text(), "write it again: docs/jobs.md says how"


def test_most_trainings_are_predicted_and_within_the_target(compared):
    predicted = compared[~compared["fitted"]]
    assert len(predicted) >= 10
    assert len(predicted) > len(compared) / 2
    assert predicted["error"].abs().mean() < 0.15
    assert predicted["name"].nunique() >= 5


def test_the_constant_is_the_one_that_leaves_no_bias_on_the_fitted_ones(compared):
    fitted = compared[compared["fitted"]]
    assert len(fitted) > 3
    assert abs(fitted["error"].mean()) < 0.006  # half a step of 0.01
    assert round(machines.SUSTAINED, 2) == machines.SUSTAINED
    assert f"| {machines.SUSTAINED:.2f}, fitted |" in PAGE.read_text()


def test_the_page_says_how_much_memory_is_usable_and_what_adamw_moves():
    from gpubench_reports.jobs import memory, traffic

    text = PAGE.read_text()
    assert f"| memory that is usable | {memory._USABLE * 100:.0f} % |" in text
    assert f"with clipping | {traffic.OPTIMIZER} bytes |" in text


def test_errors_come_as_json_too(capsys):
    command = ["job", *map(str, FILES), "--gpus=1", "--published", str(POINTS), "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == len(read_trainings(POINTS))
    assert {"name", "what", "device", "fitted", "error", "published_mfu"} <= set(found[0])


def training_file(tmp_path, **changes):
    point = {
        "what": "one",
        "device": "h100-sxm",
        "model": {
            "layers": 24,
            "hidden": 2048,
            "feed_forward": 8192,
            "heads": 16,
            "kv_heads": 16,
            "vocabulary": 51200,
            "gated": False,
            "tied": True,
        },
        "gpus": 8,
        "sequence": 2048,
        "batch": 64,
        "microbatch": 4,
        "recompute": "full",
        "quantity": "tokens_per_second_per_gpu",
        "value": 1e4,
        "fitted": False,
    }
    point = {key: value for key, value in (point | changes).items() if value is not None}
    head = {"schema": 1, "name": "n", "source": "s", "url": "u", "unlike": "-", "points": [point]}
    (tmp_path / "points.json").write_text(json.dumps(head))
    return tmp_path


def test_a_figure_is_turned_into_seconds_by_its_own_definition(tmp_path):
    def seconds(quantity, value):
        folder = training_file(tmp_path, quantity=quantity, value=value)
        return read_trainings(folder)[0].step_seconds

    tokens, layers, hidden, vocabulary, sequence = 64 * 2048, 24, 2048, 51200, 2048
    assert seconds("step_seconds", 3) == 3
    assert seconds("tokens_per_second_per_gpu", 1e4) == pytest.approx(tokens / 8e4)
    # The formulas of the two papers by Megatron's authors.
    executed = 96 * tokens * layers * hidden**2
    executed *= 1 + sequence / (6 * hidden) + vocabulary / (16 * layers * hidden)
    assert seconds("executed_flops_per_second_per_gpu", 1e14) == pytest.approx(executed / 8e14)
    model = 72 * tokens * layers * hidden**2
    model *= 1 + sequence / (6 * hidden) + vocabulary / (12 * layers * hidden)
    assert seconds("model_flops_per_second_per_gpu", 1e14) == pytest.approx(model / 8e14)


def test_what_is_not_stated_is_the_fastest(tmp_path):
    [stated] = read_trainings(training_file(tmp_path))
    assert stated.free == ()
    [open_one] = read_trainings(training_file(tmp_path, microbatch=None))
    assert open_one.free == ("microbatch",)
    best = simulate_training(open_one, machine())
    assert best.step.seconds <= simulate_training(stated, machine()).step.seconds
    [piped] = read_trainings(training_file(tmp_path, pipeline=4))
    assert piped.free == ("interleave",)
    assert simulate_training(piped, machine(bandwidth=1e30)).job.interleave > 1


def test_another_network_is_taken_into_account(tmp_path):
    [usual] = read_trainings(training_file(tmp_path, gpus=16))
    [slow] = read_trainings(training_file(tmp_path, gpus=16, network_bytes_per_second=1e8))
    times = [simulate_training(one, machine()).step.communication for one in (usual, slow)]
    assert times[1] == pytest.approx(10 * times[0], rel=0.1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"what": 3}, "'what' must be text"),
        ({"model": {"layers": 3}}, "'model' must be an object with layers, hidden"),
        ({"gpus": None}, "'gpus' is missing"),
        ({"gpus": 2.5}, "'gpus' must be a whole number"),
        ({"batch": 1e12}, "'batch' must be a whole number of at most"),
        ({"value": 0}, "'value' must be positive"),
        ({"quantity": "speed"}, "'quantity' must be one of step_seconds"),
        ({"recompute": "some"}, "'recompute' must be one of none, selective, full"),
        ({"overlap": ["nothing"]}, "'overlap' must be a list out of data"),
        ({"overlap": [["data"]]}, "'overlap' must be a list out of data"),
        ({"fitted": "no"}, "'fitted' must be true or false"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"batch": 63}, "'one' cannot be split as it says"),
        ({"device": "b200"}, "needs this device"),
    ],
    ids=str,
)
def test_a_wrong_point_is_one_line(tmp_path, write, capsys, changes, words):
    result = write(make_document(rows(), device="h100-sxm"))
    folder = tmp_path / "points"
    folder.mkdir()
    training_file(folder, **changes)
    assert main(["job", str(result), "--gpus=1", "--published", str(folder)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert words in lines[0]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "must be an object with 'schema' 1"),
        ({"schema": 2}, "must be an object with 'schema' 1"),
        ({"schema": 1}, "'name' is missing"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, document, words):
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(ReportError, match=words):
        read_trainings(tmp_path)
    (tmp_path / "a.json").unlink()
    with pytest.raises(ReportError, match="holds no trainings"):
        read_trainings(tmp_path)
