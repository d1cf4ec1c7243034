"""What to know of a run before its figures: it was interrupted, others used the GPU."""

import json

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons.compare import compare
from gpubench_reports.pages.goodness import goodness
from gpubench_reports.results.reader import read
from gpubench_reports.rules.goals import UnusableError, _require_all_rows
from gpubench_reports.rules.verdicts.health import health
from gpubench_reports.rules.verdicts.judge import judge

from .factory import DRAM, bandwidth_row, make_document

ROWS = ["stream/copy/n:1", "stream/copy/n:2"]
SHARED = "this GPU is shared: 3 processes compute on it, this one included"
REPORTS = (["table"], ["markdown"], ["claims"], ["claims", "--markdown"], ["table", "--json"])


def document(share=0.98, **context):
    rows = [bandwidth_row(name, DRAM * share, DRAM) for name in ROWS]
    return make_document(rows, **context)


def said_by(path, capsys, words):
    assert main([words[0], str(path), *words[1:]]) == 0
    return "".join(capsys.readouterr())


@pytest.mark.parametrize("words", [*REPORTS, ["csv"], ["claims", "--json"]], ids=" ".join)
def test_every_report_says_that_a_run_was_interrupted(write, capsys, words):
    sentence = '"interrupted": true' if words == ["table", "--json"] else "run was interrupted"
    assert sentence not in said_by(write(document()), capsys, words)
    assert sentence in said_by(write(document(interrupted=True)), capsys, words)


@pytest.mark.parametrize("words", [*REPORTS, ["csv"], ["claims", "--json"]], ids=" ".join)
def test_every_report_says_that_others_used_the_gpu(write, capsys, words):
    said = said_by(write(document(caveats=[SHARED])), capsys, words)
    assert SHARED[1:] in said


@pytest.mark.parametrize("words", [*REPORTS, ["csv"], ["claims", "--json"]], ids=" ".join)
def test_every_report_says_what_was_injected_into_the_model(write, capsys, words):
    said = said_by(write(document(device_kind="model", conditions="hot-gpu")), capsys, words)
    assert "injected into the model: hot-gpu" in said


@pytest.mark.parametrize("words", [*REPORTS, ["csv"], ["claims", "--json"]], ids=" ".join)
def test_every_report_says_that_a_run_was_resumed(write, capsys, words):
    once, again = "2026-11-27T14:04:12+00:00", "2026-11-27T14:10:12+00:00"
    said = said_by(write(document(resumed=[once])), capsys, words)
    assert "broken off and resumed by another process at 2026-11-27 14:04" in said
    said = said_by(write(document(resumed=[once, again])), capsys, words)
    assert "by another process 2 times, last at 2026-11-27 14:10" in said


@pytest.mark.parametrize("command", ["agree", "validate"])
def test_json_of_several_files_says_it_of_each(write, capsys, command):
    again = document(0.97)
    for row in again["benchmarks"]:
        row["model_seconds"] = row["real_time"] * 1e-6
    paths = [write(document(caveats=[SHARED]), "a.json"), write(again, "b.json")]
    assert main([command, "--json", *map(str, paths)]) == 0
    said = json.loads(capsys.readouterr().out)["reservations"]
    assert said == [{"file": str(paths[0]), "says": [SHARED]}, {"file": str(paths[1]), "says": []}]


def test_a_modelled_csv_says_so(write, capsys):
    said = "run.json: modelled: nothing was measured"
    assert said in said_by(write(document(device_kind="model")), capsys, ["csv"])
    assert "modelled" not in said_by(write(document()), capsys, ["csv"])


def test_the_page_begins_with_it(write, tmp_path, capsys):
    path = write(document(interrupted=True, caveats=[SHARED, "<b>"]))
    assert main(["html", str(path)]) == 0
    page = path.with_suffix(".html").read_text()
    header = page[page.index("<header") : page.index("</header>")]
    assert "This run was interrupted: some of its rows were not run." in header
    assert SHARED[1:] in header
    assert "&lt;b&gt;" in header


def test_the_journal_says_how_many_rows_are_missing(write, capsys):
    path = write(document(interrupted=True))
    planned = {"command": [], "same": {"rows": [*ROWS, "stream/add/n:1"]}}
    path.with_name("run.json.journal").write_text(json.dumps(planned) + "\n")
    context = read(path).context
    assert context.reservations == ["this run was interrupted: 1 of its rows was not run"]
    assert "2 of 3 rows measured" in said_by(path, capsys, ["markdown"])


@pytest.mark.parametrize("journal", ["", "{", "[]\n", '{"same": 3}\n', '{"same": {"rows": [1]}}\n'])
def test_a_journal_that_says_nothing_costs_only_the_count(write, journal):
    path = write(document(interrupted=True))
    path.with_name("run.json.journal").write_text(journal)
    context = read(path).context
    assert context.reservations == ["this run was interrupted: some of its rows were not run"]


def test_half_a_run_is_not_called_good(load, write):
    for interrupted, look in ((False, "good"), (True, "doubt")):
        result = read(write(document(interrupted=interrupted)))
        found = goodness(result, judge(result), health(result), [])
        assert found.look == look
        assert ("of those that were run" in found.words) == interrupted


def test_half_a_suite_meets_no_goal_of_a_suite(write):
    with pytest.raises(UnusableError, match="the run was interrupted"):
        _require_all_rows(read(write(document(interrupted=True))).context)


def test_a_comparison_says_which_file_to_doubt(write):
    a = read(write(document(), "a.json"))
    b = read(write(document(caveats=[SHARED], interrupted=True), "b.json"))
    said = compare(a, b).warnings
    assert f"B: {SHARED}" in said
    assert any(words.startswith("B: this run was interrupted") for words in said)
    assert not any(words.startswith("A: ") for words in said)


def test_a_shared_gpu_is_the_first_reason_of_a_low_row(write):
    state = {"processes": 3}
    result = read(write(document(0.3, device_state=state, caveats=[SHARED])))
    verdict = judge(result)[ROWS[0]]
    assert verdict.causes[0].says == "other processes computed on this GPU when the run began"
    assert health(result).well is False
    alone = read(write(document(0.3, device_state={"processes": 1})))
    assert not any("other processes" in one.says for one in judge(alone)[ROWS[0]].causes)


@pytest.mark.parametrize("caveats", ["words", [1], {"a": 1}])
def test_caveats_of_another_kind_are_one_line(write, caveats):
    with pytest.raises(ReportError, match="context: 'caveats' must be a list of texts"):
        read(write(document(caveats=caveats)))


@pytest.mark.parametrize("words", [["--json"], []])
def test_a_comparison_of_types_says_it(write, capsys, words):
    rows = [bandwidth_row(f"stream/copy/dtype:{name}", DRAM / 2) for name in ("fp32", "fp16")]
    told = {"device_kind": "model", "interrupted": True, "caveats": [SHARED]}
    paths = [str(write(make_document(rows, **told), f"{n}.json")) for n in (1, 2)]
    assert main(["compare", *paths, "--by=dtype", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for sentence in ("modelled: nothing was measured", "this run was interrupted", SHARED):
        assert sentence in said
