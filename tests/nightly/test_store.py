"""The store and its index: nothing is lost, nothing counted twice, whatever happens to them."""

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.nights.adding import add
from gpubench_reports.nightly.rule.settings import Settings, load
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store, publish

from .conftest import MACHINE, judged, process_file, put_night, put_nights, values

S = Settings()
OLD = (0, 0)  # a file's times: long settled


def update(store: Store, rebuild: bool = False):
    with Index(store) as index:
        return index.rebuild(S) if rebuild else index.update(S)


def test_a_file_is_never_written_twice(tmp_path: Path) -> None:
    publish(tmp_path / "x", b"first")
    with pytest.raises(FileExistsError):
        publish(tmp_path / "x", b"second")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"first"]


def _begin(root: Path) -> list[int]:
    store = Store.open(root, rehearsal=False)
    return [store.begin(MACHINE, {"began": "2026-01-01"}, {}).number for _ in range(8)]


def test_nights_begun_at_once_get_numbers_of_their_own(store: Store) -> None:
    with ProcessPoolExecutor(4, multiprocessing.get_context("fork")) as pool:
        numbers = [n for found in pool.map(_begin, [store.root] * 4) for n in found]
    assert sorted(numbers) == list(range(1, 33))


def test_a_night_after_the_last_number_is_refused_and_the_others_are_read(store: Store) -> None:
    put_night(store, {"a/b/n:1": 1e-4})
    last = store.root / "nights" / MACHINE / ("9" * 15)
    last.parent.joinpath("000001").rename(last)
    with pytest.raises(ReportError, match="999999999999999: leaves no number for the next night"):
        store.begin(MACHINE, {"began": "2026-01-01"}, {})
    assert [night.path for night in store.nights(MACHINE)] == [last]
    assert list(last.parent.iterdir()) == [last]


def test_the_index_is_the_same_however_it_came_about(store: Store) -> None:
    grown = []
    for _ in range(4):
        put_nights(store, 2)
        grown = values(store)
    assert len(grown) == 8
    assert update(store).read == 0  # nothing is read again
    update(store, rebuild=True)
    assert values(store) == grown
    store.index_path.unlink()
    assert values(store) == grown


@pytest.mark.parametrize("rubbish", [b"", b"no database" * 100])
def test_a_broken_index_is_made_anew(store: Store, rubbish: bytes) -> None:
    put_nights(store, 3)
    before = values(store)
    store.index_path.write_bytes(rubbish)
    assert values(store) == before
    content = bytearray(store.index_path.read_bytes())
    content[4096:12288] = b"\xff" * 8192  # pages behind the header
    store.index_path.write_bytes(content)
    with Index(store) as index:
        index.rebuild(S)
    assert values(store) == before


def test_a_corrupt_file_is_put_aside_and_named_and_the_night_still_counts(store: Store) -> None:
    put_nights(store, 2)
    night = put_night(store, {"a/b/n:1": 1e-4})
    bad = night.path / "first-2-all.json"
    bad.write_bytes(bad.read_bytes()[:300])
    os.utime(bad, OLD)
    done = update(store)
    assert len(done.quarantined) == 1
    assert "first-2-all.json: is not what done.json says" in done.quarantined[0]
    ((place, why),) = store.quarantined()
    assert str(place).endswith("lab/000003/first-2-all.json")
    assert "changed, or copied in part" in why
    assert not bad.exists()
    assert [(v[2], v[6]) for v in values(store)] == [(1, 5), (2, 5), (3, 4)]
    update(store, rebuild=True)
    assert [(v[2], v[6]) for v in values(store)] == [(1, 5), (2, 5), (3, 4)]


def test_a_file_that_is_no_result_file_is_put_aside(store: Store) -> None:
    night = store.begin(MACHINE, {"began": "2026-01-01", "units": []}, {})
    for process in range(1, 5):
        publish(night.path / f"first-{process}-all.json", process_file({"a/b/n:1": 1e-4}))
    publish(night.path / "first-5-all.json", b'{"context": {}, "benchmarks": [NaN]}')
    night.close({})
    assert "NaN" in update(store).quarantined[0]
    assert values(store)[0][6] == 4


def test_a_quarantine_that_was_emptied_takes_no_night_with_it(store: Store) -> None:
    put_nights(store, 2)
    bad = store.nights(MACHINE)[1].path / "first-2-all.json"
    bad.write_bytes(bad.read_bytes()[:300])
    os.utime(bad, OLD)
    update(store)
    ((place, _),) = store.quarantined()
    (store.root / "quarantine" / place).unlink()
    assert store.quarantined() == []
    update(store, rebuild=True)
    assert [(v[2], v[6]) for v in values(store)] == [(1, 5), (2, 4)]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"action": "accept"}', '{"action": 1, "machine": "lab"}']
)
def test_a_corrupt_decision_is_put_aside_and_the_others_hold(store: Store, content: str) -> None:
    good = {"action": "accept", "machine": MACHINE, "night": 1, "series": [], "reason": "r"}
    store.decide(good)
    bad = store.root / "decisions/20260101T000000-00000000.json"
    bad.write_text(content)
    assert [decision["action"] for decision in store.decisions()] == ["accept"]
    assert bad.exists()  # it may still be on its way here
    os.utime(bad, OLD)
    assert [decision["action"] for decision in store.decisions()] == ["accept"]
    assert [str(path) for path, _ in store.quarantined()] == [f"decisions/{bad.name}"]
    assert not bad.exists()


def test_files_that_are_still_on_their_way_are_waited_for(store: Store, tmp_path: Path) -> None:
    put_nights(store, 12)
    source = put_night(store, {"a/b/n:1": 1.5e-4}).path
    aside = tmp_path / "aside"
    source.rename(aside)
    source.mkdir()
    for name in ("plan.json", "done.json", "first-1-all.json"):  # the rest is being copied
        shutil.copy(aside / name, source / name)
    half = source / "first-2-all.json"
    half.write_bytes((aside / half.name).read_bytes()[:100])
    one = judged(store)
    assert one.exit_code == 2
    assert one.unjudged == ["night 13 is incomplete: 4 files are not here yet"]
    assert store.quarantined() == []
    for path in aside.iterdir():
        shutil.copy(path, source / path.name)
    one = judged(store)
    assert (one.exit_code, one.verdict["judged"]) == (0, 1)


def test_a_night_copied_twice_counts_once(store: Store) -> None:
    put_nights(store, 3)
    nights = store.root / "nights"
    shutil.copytree(nights / MACHINE / "000002", nights / MACHINE / "000004")
    shutil.copytree(nights / MACHINE, nights / "elsewhere")
    assert len(values(store)) == 3
    update(store, rebuild=True)
    assert len(values(store)) == 3
    with Index(store) as index:
        assert index.rows("select count(*) from night where state = 'duplicate'") == [(5,)]


def test_a_night_that_is_gone_is_gone_from_the_index(store: Store) -> None:
    put_nights(store, 3)
    update(store)
    shutil.rmtree(store.root / "nights" / MACHINE / "000002")
    assert [v[2] for v in values(store)] == [1, 3]


def _machines_and_nights(store: Store) -> list[tuple[str, int]]:
    """What the updated index holds, which must be what a new one holds."""
    updated = values(store)
    update(store, rebuild=True)
    assert updated == values(store)
    return [(value[0], value[2]) for value in updated]


@pytest.mark.parametrize("name", ["aaa", "zzz"])  # read before and after the old name
def test_a_renamed_machine_keeps_its_open_regression(regressed: Store, name: str) -> None:
    assert judged(regressed).exit_code == 1
    (regressed.root / "nights" / MACHINE).rename(regressed.root / "nights" / name)
    for _ in range(2):
        one = judged(regressed)
        assert (one.machine, one.exit_code) == (name, 1)
        assert [s.event["benchmark"] for s in one.regressions if s.event] == ["a/b/n:1"]


def test_a_night_that_was_moved_is_where_it_is_now(store: Store) -> None:
    put_nights(store, 3)
    update(store)
    nights = store.root / "nights"
    (nights / MACHINE / "000001").rename(nights / MACHINE / "000007")
    assert _machines_and_nights(store) == [(MACHINE, 2), (MACHINE, 3), (MACHINE, 7)]
    (nights / "other").mkdir()
    (nights / MACHINE / "000002").rename(nights / "other" / "000002")
    assert _machines_and_nights(store) == [(MACHINE, 3), (MACHINE, 7), ("other", 2)]


def test_two_nights_that_were_exchanged_are_both_read(store: Store) -> None:
    put_night(store, {"a/b/n:1": 1e-4})
    put_night(store, {"a/b/n:1": 1e-4, "a/b/n:2": 1e-4})
    update(store)
    first, second = (night.path for night in store.nights(MACHINE))
    first.rename(first.with_name(".aside"))
    second.rename(first)
    first.with_name(".aside").rename(second)
    found = [(value[1], value[2]) for value in values(store)]
    assert found == [("a/b/n:1", 1), ("a/b/n:1", 2), ("a/b/n:2", 1)]


def test_a_copy_counts_once_the_original_is_gone(store: Store) -> None:
    put_nights(store, 2)
    update(store)
    nights = store.root / "nights"
    for name in ("copy", "third"):
        shutil.copytree(nights / MACHINE, nights / name)
    update(store)
    shutil.rmtree(nights / MACHINE)
    assert [(value[0], value[2]) for value in values(store)] == [("copy", 1), ("copy", 2)]
    with Index(store) as index:
        assert index.rows("select distinct note from night where machine = 'third'") == [
            ("holds the files of night 1 of copy",),
            ("holds the files of night 2 of copy",),
        ]


def _index_again_and_again(root: Path) -> None:
    store = Store.open(root, rehearsal=False)
    for turn in range(6):
        update(store, rebuild=turn % 2 == 0)


def test_two_at_once_may_write_the_index(store: Store) -> None:
    put_nights(store, 8)
    expected = values(store)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_index_again_and_again, args=(store.root,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    put_nights(store, 2)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert values(store)[:8] == expected
    assert len(values(store)) == 10


def test_an_update_killed_at_any_moment_is_just_repeated(store: Store, tmp_path: Path) -> None:
    put_nights(store, 12)
    expected = values(store)
    kills = 0
    for delay in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05):
        store.index_path.unlink(missing_ok=True)
        started = tmp_path / "started"
        started.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            started.touch()
            update(store, rebuild=True)
            os._exit(0)
        while not started.exists():
            time.sleep(0.001)
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        kills += os.WIFSIGNALED(status)
        assert values(store) == expected
    assert kills >= 2  # the test did interrupt it


def test_storing_killed_at_any_moment_is_just_repeated(store: Store, tmp_path: Path) -> None:
    kills = 0
    for turn, delay in enumerate((0.0, 0.001, 0.002, 0.004, 0.006, 0.01), start=1):
        paths = [tmp_path / f"{turn}-{process}.json" for process in range(5)]
        for path in paths:
            path.write_bytes(process_file({"a/b/n:1": 1e-4}))
        started = tmp_path / f"started-{turn}"
        pid = os.fork()
        if pid == 0:
            with Index(store) as index:
                started.touch()
                add(store, index, paths, MACHINE)
                time.sleep(60)
        while not started.exists():
            time.sleep(0.0005)
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        before = len(store.nights(MACHINE))
        kills += before < turn or not store.nights(MACHINE)[-1].has("done.json")
        with Index(store) as index:
            index.update(S)
            add(store, index, paths, MACHINE)
        assert len(store.nights(MACHINE)) == turn
        assert [(v[2], v[6]) for v in values(store)] == [(n, 5) for n in range(1, turn + 1)]
    assert kills >= 1  # the test did interrupt it


def test_a_full_disk_is_one_line_and_nothing_is_lost(store: Store) -> None:
    put_nights(store, 12)
    expected = values(store)
    store.index_path.unlink()
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "from gpubench_reports.nightly.commands.command_line import main;"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        [*command, "index", f"--store={store.root}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    large = store.root / "large.json"
    rows = {f"a/b/n:{n}": 1e-4 for n in range(100)}
    large.write_bytes(process_file(rows))
    done = subprocess.run(
        [*command, "add", f"--store={store.root}", f"--machine={MACHINE}", str(large)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(store.nights(MACHINE)) == 12
    assert values(store) == expected


def test_the_kinds_of_nights_never_mix(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="a rehearsal needs a store of its own"):
        Store.open(store.root, rehearsal=True, create=True)
    rehearsal = Store.open(tmp_path / "rehearsal", rehearsal=True, create=True)
    with pytest.raises(ReportError, match="say --rehearsal"):
        Store.open(rehearsal.root, rehearsal=False)
    # Also when files are copied into the folder by hand.
    put_night(store, {"a/b/n:1": 1e-4}, device_kind="model")
    assert "is modelled" in update(store).quarantined[0]
    put_night(rehearsal, {"a/b/n:1": 1e-4})
    assert "was measured" in update(rehearsal).quarantined[0]
    assert values(store) == values(rehearsal) == []


def test_an_index_of_another_version_is_made_anew(store: Store) -> None:
    put_nights(store, 2)
    before = values(store)
    with sqlite3.connect(store.index_path) as database:
        database.execute("pragma user_version = 99")
        database.execute("drop table value")
    database.close()
    assert values(store) == before


def test_settings_come_from_the_store_and_mistakes_are_named(store: Store) -> None:
    path = store.root / "settings.toml"
    path.write_text("floor = 0.05\nprocesses = 7\nsigmas = 3\n")
    settings = load(store.root, suite="quick", mode=None)
    assert (settings.floor, settings.processes, settings.sigmas) == (0.05, 7, 3.0)
    assert (settings.suite, settings.mode) == ("quick", "cold")
    for text, problem in (
        ("flor = 1", "'flor' is no setting"),
        ("floor = 'x'", "'floor' must be float"),
        ("floor = 0", "'floor' must be above 0"),
        ("floor", "not valid TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ReportError, match=problem):
            load(store.root)
    path.unlink()
    assert load(store.root) == Settings()
    path.symlink_to("gone.toml")
    with pytest.raises(ReportError, match="cannot read"):
        load(store.root)


def test_done_lists_what_is_there(store: Store) -> None:
    night = put_night(store, {"a/b/n:1": 1e-4})
    listed = json.loads((night.path / "done.json").read_text())["files"]
    assert sorted(listed) == [f"first-{process}-all.json" for process in range(1, 6)]
