"""Exit code 1 means a regression: nothing in a store, and no error of the program, may cause it."""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.json_damage import JsonDamage

from gpubench_reports.nightly.commands import status
from gpubench_reports.nightly.commands.command_line import COMMANDS, SWITCHES, main
from gpubench_reports.nightly.judging.history import SUITE_WIDE
from gpubench_reports.nightly.store.store import Store

from .conftest import process_file, put_nights


def ends(store: Store, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["status", f"--store={store.root}"])
    return code, capsys.readouterr().err


EVENT = {
    **dict.fromkeys(("device", "mode", "benchmark", "kind", "class", "how"), "x"),
    **dict.fromkeys(("before", "after", "reference"), 1.0),
    **{"night": 3, "first_night": 2, "environment": {}, "slower": True},
}


@pytest.mark.parametrize("files", ["[1]", '{"a": 1}', '{"a": {}}', '{"\\ud800": {"sha256": "x"}}'])
def test_a_strange_list_of_files_is_put_aside(store: Store, capsys, files: str) -> None:
    put_nights(store, 3)
    done = store.nights("lab")[1].path / "done.json"
    done.write_text(f'{{"files": {files}}}')
    code, err = ends(store, capsys)
    assert (code, err) == (0, "")
    assert [str(path) for path, _ in store.quarantined()] == ["lab/000002/done.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"events": [1]},
        {"events": [{"device": "x"}]},
        {"events": 1},
        {"missing": [{}]},
        {"judged": "many"},
        {"provisional": None},
        {"segments": {}},
        {"segments": [{}]},
        {"provisional": [1]},
        {"blind": [{}]},
        {"events": [EVENT | {"after": 1e400}]},
        {"events": [EVENT | {"rows": "all"}]},
    ],
)
def test_a_strange_verdict_is_put_aside_and_made_anew(store: Store, capsys, change: dict) -> None:
    put_nights(store, 3)
    assert ends(store, capsys)[0] == 0
    path = store.nights("lab")[2].path / "verdict.json"
    verdict = json.loads(path.read_text())
    path.write_text(json.dumps(verdict | change))
    os.utime(path, (0, 0))  # long settled: what is no JSON may be on its way
    assert ends(store, capsys)[0] == 0
    assert [str(at) for at, _ in store.quarantined()] == ["lab/000003/verdict.json"]
    assert json.loads(path.read_text())["events"] == verdict["events"]


def test_half_a_character_in_a_date_is_taken_out(store: Store, capsys) -> None:
    put_nights(store, 1)
    plan = store.nights("lab")[0].path / "plan.json"
    plan.write_text('{"began": "\\ud800"}')
    assert ends(store, capsys)[0] == 0


def test_a_verdict_of_any_shape_is_no_internal_error(store: Store, capsys) -> None:
    put_nights(store, 12)
    path = store.nights("lab")[-1].path / "verdict.json"
    assert ends(store, capsys)[0] == 0
    series = {"device": "x", "mode": "y", "benchmark": "z"}
    whole = EVENT | {"rows": ["x"], "commits": ["a", "b"], "date": "2026-03-01"}
    damage = JsonDamage(
        json.loads(path.read_text())
        | {
            "events": [EVENT, whole, whole | {"benchmark": SUITE_WIDE}],
            "provisional": [["x", "y", "z", 1]],
            "missing": [series | {"why": "gone", "last_night": 3}],
            "segments": [series | {"changed": {"driver": ["1", "2"]}, "ratio": 1.2}],
            "blind": [series | {"why": "noise"}],
        }
    )
    draw = random.Random(11)
    for _ in range(60):
        path.write_text(damage.next(draw), encoding="utf-8", errors="surrogatepass")
        code, err = ends(store, capsys)
        assert code in (0, 1, 2), err


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (b"lab/1234567890123456789012345", "is no number of a night: rename it"),
        ("lab/\u0663".encode(), "is no number of a night: rename it"),
        (b"lab-\xff", "is not UTF-8: rename it"),
        (b"lab\x1b[2J", "its name has control characters: rename it"),
    ],
)
def test_a_strange_folder_is_one_line(store: Store, capsys, place: bytes, problem: str) -> None:
    put_nights(store, 1)
    (store.root / "nights" / os.fsdecode(place)).mkdir(parents=True)
    code, err = ends(store, capsys)
    assert code == 2
    assert problem in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"floor = {'9' * 400}",
        f"processes = {'9' * 400}",
        f"processes = {'9' * 9000}",
        f"floor = {'[' * 3000}",
        "floor = inf",
        "floor = nan",
        f"floor = '{'x' * 3000}'",
    ],
)
def test_strange_settings_are_one_line(store: Store, capsys, text: str) -> None:
    put_nights(store, 1)
    (store.root / "settings.toml").write_text(text)
    code, err = ends(store, capsys)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert len(err) < 400 + len(str(store.root))


def test_an_error_of_the_program_has_an_exit_code_of_its_own(
    store: Store, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise KeyError("events")

    monkeypatch.setattr(status, "run", fail)
    code, err = ends(store, capsys)
    assert code == 3
    assert err.startswith("nightly: internal error at test_exit_codes.py:")
    assert len(err.splitlines()) == 1


def test_where_no_store_is_asked_for_is_one_line(tmp_path: Path, capsys) -> None:
    assert main(["status", f"--store={tmp_path}"]) == 2
    assert "is no store of nights" in capsys.readouterr().err


def test_a_store_without_a_name_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["run", "--store="])
    assert "--store: names no folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_store_may_stand_before_the_command(store: Store, capsys) -> None:
    put_nights(store, 1)
    for words in ([f"--store={store.root}"], ["--store", str(store.root)]):
        assert main([*words, "status"]) == 0
        assert "night 1 of" in capsys.readouterr().out
    assert main(["--json", f"--store={store.root}", "status"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == 1
    assert main(["--rehearsal", f"--store={store.root}", "status"]) == 2
    assert "holds measured nights" in capsys.readouterr().err


def test_every_option_without_a_value_is_known_as_one() -> None:
    found = set()
    for command in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        command.add_arguments(parser)
        found |= {name for one in parser._actions if one.nargs == 0 for name in one.option_strings}
    assert found == set(SWITCHES)


@pytest.mark.parametrize(
    ("words", "module", "said"),
    [
        (["run"], "otava.analysis", "the judge: needs Apache Otava: "),
        (["learn"], "otava.analysis", "the judge: needs Apache Otava: "),
        (["compare", "old", "new"], "scipy", "the gate: needs SciPy: "),
    ],
)
def test_what_judging_needs_is_looked_for_before_anything_is_measured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
    words: list[str],
    module: str,
    said: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main([*words, f"--store={tmp_path / 'store'}"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"nightly: {said}")
    assert line.endswith(" -m pip install 'gpubench-reports[nightly]'")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["store.json", "nights/lab/000001/done.json"])
def test_a_report_replaces_nothing_of_its_store(store: Store, capsys, name: str) -> None:
    put_nights(store, 1)
    assert ends(store, capsys)[0] == 0
    before = (store.root / name).read_bytes()
    for words in (["report", "--out"], ["export", "openmetrics"], ["export", "junit"]):
        assert main([words[0], f"--store={store.root}", *words[1:], str(store.root / name)]) == 2
        assert "must not replace what the store holds" in capsys.readouterr().err
    assert (store.root / name).read_bytes() == before


def test_pipes_in_a_store_do_not_hold_it_up(store: Store, capsys) -> None:
    put_nights(store, 3)
    first, second, _ = (night.path for night in store.nights("lab"))
    for path in (first / "first-1-all.json", second / "plan.json"):
        path.unlink()
        os.mkfifo(path)
    assert ends(store, capsys) == (0, "")
    aside = [str(path) for path, _ in store.quarantined()]
    assert aside == ["lab/000001/first-1-all.json", "lab/000002/plan.json"]
    os.mkfifo(store.root / "settings.toml")
    code, err = ends(store, capsys)
    assert code == 2
    assert err.endswith("settings.toml: cannot read: it is a device or a pipe, no file\n")


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a\0b", "a/b", "x" * 300])
def test_what_no_file_is_called_is_put_aside(store: Store, capsys, name: str) -> None:
    put_nights(store, 3)
    done = store.nights("lab")[1].path / "done.json"
    done.write_text(json.dumps({"files": {name: {"sha256": "x"}}}))
    assert ends(store, capsys) == (0, "")
    assert [str(path) for path, _ in store.quarantined()] == ["lab/000002/done.json"]


def test_what_is_no_file_in_a_files_place_is_put_aside(store: Store, capsys) -> None:
    put_nights(store, 5)
    nights = [night.path for night in store.nights("lab")]
    for folder in (nights[0] / "first-1-all.json", nights[1] / "done.json"):
        folder.unlink()
        folder.mkdir()
    for loop in (nights[0] / "first-2-all.json", nights[2] / "done.json"):
        loop.unlink()
        loop.symlink_to(loop)
    (store.root / "nights/lab/000009").write_text("no folder")
    for loop in ("nights/loop", "nights/lab/000010"):
        (store.root / loop).symlink_to(store.root / loop)
    assert ends(store, capsys) == (0, "")
    assert [str(path) for path, _ in store.quarantined()] == [
        "lab/000001/first-1-all.json",
        "lab/000001/first-2-all.json",
        "lab/000002/done.json",
        "lab/000003/done.json",
        "lab/000009",
        "lab/000010",
    ]
    assert ends(store, capsys) == (0, "")


def test_a_reason_that_is_no_text_is_one_line(store: Store, capsys) -> None:
    put_nights(store, 1)
    words = [f"--store={store.root}", "*", "--reason=\udcff"]
    for command in (["accept", *words], ["acknowledge", *words, "--until=2999-01-01"]):
        assert main(command) == 2
        assert capsys.readouterr().err == f"nightly: {command[0]}: the reason is not UTF-8 text\n"


def test_a_page_for_a_loop_of_links_is_one_line(store: Store, tmp_path: Path, capsys) -> None:
    put_nights(store, 1)
    (loop := tmp_path / "loop").symlink_to(loop)
    assert main(["report", f"--store={store.root}", f"--out={loop}"]) == 2
    said = capsys.readouterr().err
    assert said == f"nightly: {loop}: cannot write: Too many levels of symbolic links\n"


def test_a_seed_below_zero_is_refused(capsys) -> None:
    for words in (["compare", "a", "b"], ["calibrate-judge"]):
        with pytest.raises(SystemExit, match="2"):
            main([*words, "--seed=-1"])
        assert "'-1' is no whole number from 0 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["工場", "研究室", "gpu 1", "a/b", "..", ".lab", "\udcff", "x" * 101]
)
def test_a_machine_shares_its_history_with_no_other_name(store, tmp_path, capsys, name) -> None:
    (one := tmp_path / "one.json").write_bytes(process_file({"a/b/n:1": 1e-4}))
    where = [f"--store={store.root}", f"--machine={name}"]
    for words in (["add", *where, str(one)], ["run", *where, "--program=/bin/true"]):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert "is no machine's name" in said
        assert len(said.splitlines()) == 1
    assert store.machines() == []


@pytest.mark.parametrize("name", ["gpu-1", "gpu_1+b.example", "x" * 100])
def test_plain_names_of_machines_are_their_folders(store, tmp_path, capsys, name) -> None:
    (one := tmp_path / "one.json").write_bytes(process_file({"a/b/n:1": 1e-4}))
    main(["add", f"--store={store.root}", f"--machine={name}", str(one)])
    assert store.machines() == [name]


def test_a_package_that_cannot_be_imported_is_no_regression(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('two\\nlines')\n")
    done = subprocess.run(
        [sys.executable, "-m", "gpubench_reports.nightly", "status", f"--store={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("nightly: internal error at ")
