"""A store that cannot be written to: it can be asked, nothing in it changes, and what would change
it refuses in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, process_file, put_night, put_nights

NAME, SLOW = "a/b/n:1", {"a/b/n:1": 1.2e-4}
Asked = subprocess.CompletedProcess[str]
Ask = Callable[..., Asked]
RELEASE = pytest.mark.release  # a Python of its own and the judge take a second

_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
# What lets root write without permission.
_WITHOUT_POWERS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.fixture
def store(store: Store) -> Iterator[Store]:
    """A regression, in nights that nobody has looked at yet."""
    put_nights(store, 12, NAME)
    for _ in range(2):
        put_night(store, SLOW, rerun=SLOW)
    yield store
    set_permissions(store, 0o755, 0o644)


def set_permissions(store: Store, of_folders: int, of_files: int) -> None:
    for path in (store.root, *store.root.rglob("*")):
        path.chmod(of_folders if path.is_dir() else of_files)


def on_a_mount(store: Store, *command: str) -> Asked:
    """As any user, root too, where the store is mounted read-only."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-r", "--mount"]
    inside = [*unshare, "sh", "-c", _MOUNT, str(store.root)]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("this user may mount nothing here")
    return _nightly(store, command, inside)


def without_permission(store: Store, *command: str) -> Asked:
    set_permissions(store, 0o555, 0o444)
    if os.geteuid() != 0:
        return _nightly(store, command, [])
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv: root may write anywhere")
    return _nightly(store, command, _WITHOUT_POWERS)


def _nightly(store: Store, command: tuple[str, ...], inside: list[str]) -> Asked:
    name, *rest = command
    words = [sys.executable, "-m", "gpubench_reports.nightly", name, f"--store={store.root}", *rest]
    return subprocess.run([*inside, *words], capture_output=True, text=True, check=False)


WHY = {
    on_a_mount: "the file system is mounted read-only",
    without_permission: "has no permission to",
}


@pytest.fixture(params=WHY, ids=lambda ask: ask.__name__)
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param


def content(store: Store) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(store.root)): path.read_bytes() if path.is_file() else None
        for path in store.root.rglob("*")
    }


@pytest.mark.parametrize(
    "known", [pytest.param("nothing", marks=RELEASE), "all nights", "a broken index"]
)
def test_it_answers_as_one_that_can_be_written_to(store, capsys, ask: Ask, known) -> None:
    if known != "nothing":
        judged(store)
    if known == "a broken index":
        store.index_path.write_bytes(b"no database" * 1000)
    before = content(store)
    seen = ask(store, "status")
    assert content(store) == before
    set_permissions(store, 0o755, 0o644)
    code = main(["status", f"--store={store.root}"])
    assert code == 1
    assert (seen.returncode, seen.stdout, seen.stderr) == (code, capsys.readouterr().out, "")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["status", "--json"], f'"benchmark": "{NAME}"'),
        pytest.param(["query", "machines"], NAME, marks=RELEASE),
        (["export", "openmetrics", "/dev/stdout"], "gpubench_time_seconds"),
        pytest.param(["export", "junit", "/dev/stdout"], NAME, marks=RELEASE),
        (["report", "--out=/dev/stdout"], NAME),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_question_is_answered(store, command, words) -> None:
    seen = without_permission(store, *command)
    assert words in seen.stdout, seen.stderr
    assert seen.returncode in (0, 1)


def refuses(store: Store, ask: Ask, *command: str) -> bool:
    before = content(store)
    seen = ask(store, *command)
    line = f"nightly: {store.root}: this command has to write here, and {WHY[ask]}\n"
    assert (seen.returncode, seen.stdout, seen.stderr) == (2, "", line)
    return content(store) == before


def test_a_decision_is_refused_in_one_line(store, ask: Ask) -> None:
    assert refuses(store, ask, "accept", "a/*", "--reason=known")


@pytest.mark.parametrize(
    "command",
    [
        ["acknowledge", "a/*", "--until=2999-01-01", "--reason=known"],
        ["run", "--program=/bin/true", "--machine=lab"],
        pytest.param(["learn", "--program=/bin/true", "--machine=lab"], marks=RELEASE),
        pytest.param(["index"], marks=RELEASE),
        ["index", "--rebuild"],
    ],
    ids=" ".join,
)
def test_what_would_change_it_is_refused_in_one_line(store, command) -> None:
    assert refuses(store, without_permission, *command)


def test_no_night_is_added(store, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_bytes(process_file({NAME: 1e-4}))
    assert refuses(store, without_permission, "add", str(file))


def test_the_page_needs_another_place(store) -> None:
    seen = without_permission(store, "report")
    line = f"nightly: {store.root}: cannot be written to: name the page with --out=FILE.html\n"
    assert (seen.returncode, seen.stdout, seen.stderr) == (2, "", line)


@pytest.mark.parametrize(
    "place",
    [
        "nights/lab",
        pytest.param("nights/lab/000003", marks=RELEASE),
        "index.sqlite",
        pytest.param("decisions", marks=RELEASE),
    ],
)
def test_the_page_is_written_where_only_a_part_belongs_to_another_user(store, place) -> None:
    judged(store)
    (store.root / "decisions").mkdir(exist_ok=True)
    (store.root / place).chmod(0o555)
    before = content(store)
    inside = _WITHOUT_POWERS if os.geteuid() == 0 else []
    seen = _nightly(store, ("report",), inside)
    page = store.root / "report.html"
    assert (seen.returncode, seen.stdout, seen.stderr) == (0, f"{page}\n", "")
    assert NAME in page.read_text()
    after = content(store)
    del after["report.html"]
    assert after == before


def test_a_damaged_file_is_named_and_stays(store) -> None:
    damaged = store.root / "nights" / "lab" / "000003" / "first-2-all.json"
    damaged.write_bytes(b"{")
    os.utime(damaged, (0, 0))
    seen = without_permission(store, "status")
    assert "first-2-all.json: is not what done.json says" in seen.stdout
    assert "still in its place: the store is read-only" in seen.stdout
    assert damaged.read_bytes() == b"{"


def test_a_night_with_a_damaged_file_is_judged_all_the_same(store) -> None:
    last = max((store.root / "nights" / "lab").iterdir())
    damaged = last / "first-2-all.json"
    damaged.write_bytes(b"{")
    os.utime(damaged, (0, 0))
    seen = without_permission(store, "status")
    assert "still in its place: the store is read-only" in seen.stdout
    assert "has not been judged" not in seen.stdout


def test_an_index_of_another_user_is_left_alone(store) -> None:
    """Where everything else may be written to, as in a folder that a group shares."""
    judged(store)
    before = content(store)
    store.index_path.chmod(0o444)
    inside = _WITHOUT_POWERS if os.geteuid() == 0 else []
    assert _nightly(store, ("status",), inside).returncode == 1
    assert content(store) == before
