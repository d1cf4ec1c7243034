"""The index: one SQLite database over the store's nights, rebuilt from the files at will."""

import contextlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.common.plain_text import clean
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.night_files import read_done, read_night
from gpubench_reports.nightly.store.night_values import (
    conditions,
    identity,
    night_value,
    planned_processes,
)
from gpubench_reports.nightly.store.process_file import (
    Environment,
    ProcessFile,
    Timing,
    in_some,
    worst_problem,
)
from gpubench_reports.nightly.store.store import Night, Store, as_json
from gpubench_reports.nightly.store.tables import VERSION, recreate

_BUSY_SECONDS = 120.0

_Key = tuple[str, str, str]  # device, mode, name


@dataclass(frozen=True)
class Update:
    """What one update did: nights read anew, nights looked at, files put into quarantine."""

    read: int
    seen: int
    quarantined: list[str]


class Index:
    """An open index. `rows` and `table` answer queries; `update` takes in what is new.

    That of a read-only store is a copy in memory: what is new ends with this process.
    """

    def __init__(self, store: Store, path: Path | None = None) -> None:
        self.store = store
        self.path = path or store.index_path
        self._database = self._open()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _open(self) -> sqlite3.Connection:
        if self.store.read_only:
            return self._copied()
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise ReportError(self.path, f"cannot open the index: {error}") from None
        return self._anew()

    def _anew(self) -> sqlite3.Connection:
        """In place of a file that is no database, or a broken one. Nothing is lost with it."""
        if self.store.read_only:
            return self._connect(":memory:")
        for suffix in ("", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        return self._connect()

    def _copied(self) -> sqlite3.Connection:
        """The file's content; empty if there is none that can be read without writing."""
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        memory = sqlite3.connect(":memory:", isolation_level=None)
        try:
            with contextlib.closing(
                sqlite3.connect(address, timeout=_BUSY_SECONDS, uri=True)
            ) as source:
                source.backup(memory)
            return self._prepared(memory)
        except sqlite3.DatabaseError:
            memory.close()
            return self._anew()

    def _connect(self, path: Path | str = "") -> sqlite3.Connection:
        path = path or self.path
        return self._prepared(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None))

    def _prepared(self, database: sqlite3.Connection) -> sqlite3.Connection:
        """With the tables of this version."""
        try:
            with _writing(database):
                if database.execute("pragma user_version").fetchone()[0] != VERSION:
                    recreate(database)
        except BaseException:
            database.close()
            raise
        return database

    def rows(self, query: str, arguments: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return self.table(query, arguments)[1]

    def table(
        self, query: str, arguments: Iterable[Any] = ()
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The answer's columns, and its rows."""
        try:
            cursor = self._database.execute(query, tuple(arguments))
            return [column[0] for column in cursor.description], cursor.fetchall()
        except sqlite3.Error as error:
            raise ReportError(self.path, f"the index: {error}") from None

    def remember(self, night: Night, verdict: dict[str, Any]) -> None:
        """Takes in a verdict that cannot be written to the night's folder."""
        self._database.execute(
            "update night set verdict = ? where machine = ? and number = ?",
            (as_json(verdict).decode(), night.machine, night.number),
        )

    def rebuild(self, settings: Settings) -> Update:
        """Forgets everything and reads all files again. Readers see the old index until then."""
        return self._guarded(settings, anew=True)

    def update(self, settings: Settings) -> Update:
        """Takes in the nights that are new or have changed; a killed update is just repeated."""
        return self._guarded(settings, anew=False)

    def _guarded(self, settings: Settings, anew: bool) -> Update:
        try:
            return self._update(settings, anew)
        except sqlite3.OperationalError as error:
            raise ReportError(self.path, f"cannot write the index: {error}") from None
        except sqlite3.DatabaseError:
            self._database.close()
            self._database = self._anew()
            return self._update(settings, anew=True)
        except OSError as error:
            name = error.filename or self.store.root
            raise ReportError(name, f"cannot read or write: {reason(error)}") from None

    def _update(self, settings: Settings, anew: bool) -> Update:
        put_aside: list[str] = []
        read = seen = 0
        if anew:  # one transaction: the nights of others wait for it, and find it all done
            with _writing(self._database):
                recreate(self._database)
                for night in self._nights(put_aside):
                    self._take(night, night.fingerprint(), settings, put_aside)
                    seen += 1
                self._note_quarantine()
            return Update(seen, seen, put_aside)
        known = {
            (machine, number): fingerprint
            for machine, number, fingerprint in self.rows(
                # A file may become whole, or old enough to be called damaged, at the same size.
                "select machine, number, case state when 'incomplete' then '' else fingerprint end"
                " from night"
            )
        }
        here: dict[tuple[str, int], Night] = {}
        for night in self._nights(put_aside):
            seen += 1
            fingerprint = night.fingerprint()
            here[night.machine, night.number] = night
            if known.pop((night.machine, night.number), None) == fingerprint:
                continue
            with _writing(self._database):
                self._take(night, fingerprint, settings, put_aside)
            read += 1
        with _writing(self._database):
            for machine, number in known:  # whose folder is gone
                self._forget(machine, number)
            read += self._retake_copies(here, settings, put_aside)
            self._note_quarantine()
        return Update(read, seen, put_aside)

    def _retake_copies(
        self, here: dict[tuple[str, int], Night], settings: Settings, put_aside: list[str]
    ) -> int:
        """Takes the duplicates whose first night has moved or gone; returns how many they were.

        A folder that was renamed was read while the index still held its old name.
        """
        taken = 0
        for machine, number, note in self.rows(
            "select machine, number, note from night where state = 'duplicate'"
        ):
            night = here.get((machine, number))
            if night is None:  # another process took it in since
                continue
            if self._twin(night, read_done(self.store, night, put_aside)) != note:
                self._take(night, night.fingerprint(), settings, put_aside)
                taken += 1
        return taken

    def _nights(self, put_aside: list[str]) -> Iterator[Night]:
        for machine in self.store.machines():
            for night in self.store.nights(machine):
                if night.path.is_dir():
                    yield night
                else:
                    put_aside.append(str(self.store.quarantine(night.path, "not a folder")))

    def _note_quarantine(self) -> None:
        self._database.execute("delete from quarantined")
        self._database.executemany(
            "insert into quarantined values(?, ?)",
            [(str(path), why) for path, why in self.store.quarantined()],
        )

    def _forget(self, machine: str, number: int) -> None:
        run = self._database.execute
        for table in ("value", "unsound"):
            run(
                f"delete from {table} where night = ? and series in "
                "(select id from series where machine = ?)",
                (number, machine),
            )
        for table in ("night", "problem", "file"):
            run(f"delete from {table} where machine = ? and number = ?", (machine, number))

    def _take(
        self, night: Night, fingerprint: str, settings: Settings, put_aside: list[str]
    ) -> None:
        """Puts the night into the database, in place of what it holds of it."""
        self._forget(night.machine, night.number)
        already = len(put_aside)
        here = read_night(self.store, night, settings, put_aside)
        if len(put_aside) > already:  # what comes in its place may have the same name and size
            fingerprint = ""
        state, note, files = here.state, here.note, here.files
        for sha256, name in here.sums:
            self._database.execute(
                "insert or ignore into file values(?, ?, ?, ?)",
                (sha256, night.machine, night.number, name),
            )
        if state != "incomplete" and (twin := self._twin(night, here.done)):
            state, note, files = "duplicate", twin, []
        commits = Counter(file.context.git_commit for file in files)
        self._database.execute(
            "insert into night values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                night.machine,
                night.number,
                clean(str(here.plan.get("began", ""))),
                fingerprint,
                state,
                note,
                json.dumps(here.plan.get("health", {})),
                json.dumps(identity(here.plan.get("health"), files)),
                commits.most_common(1)[0][0] if commits else "",
                None if here.verdict is None else json.dumps(here.verdict),
            ),
        )
        if state in ("ok", "invalid"):
            least = min(settings.min_processes, planned_processes(here.plan, settings.processes))
            self._insert(night, files, least, valid=state == "ok")

    def _twin(self, night: Night, done: dict[str, Any]) -> str:
        """Says which night has a file of this one, if it came first; empty if none."""
        for file in done.get("files", {}).values():
            for machine, number in self.rows(
                "select machine, number from file where sha256 = ?", (file["sha256"],)
            ):
                if (machine, number) != (night.machine, night.number):
                    return f"holds the files of night {number} of {machine}"
        return ""

    def _insert(self, night: Night, files: list[ProcessFile], least: int, valid: bool) -> None:
        """`least`: of how many processes a row needs a sound time."""
        by_key: dict[_Key, dict[str, list[Timing]]] = defaultdict(
            lambda: {"first": [], "rerun": []}
        )
        found: dict[_Key, list[str]] = defaultdict(list)
        environments: dict[tuple[str, str], int] = {}
        ran: Counter[_Key] = Counter()  # processes, by the concept of which they ran rows
        for file in files:
            stage = "rerun" if file.path.name.startswith("rerun-") else "first"
            device, mode = file.environment.device, file.environment.mode
            environments[device, mode] = self._id("environment", file.environment)
            if stage == "first":
                concepts = {_concept(name) for name in (*file.timings, *file.problems)}
                ran.update((device, mode, concept) for concept in concepts)
            for name, timing in file.timings.items():
                by_key[device, mode, name][stage].append(timing)
            for name, problem in file.problems.items():
                found[device, mode, name].append(problem)
        problems = {
            key: in_some(texts, len(texts) + sum(map(len, by_key[key].values())))
            if key in by_key
            else worst_problem(texts)
            for key, texts in found.items()
        }
        if not valid:  # whatever its times say
            least = len(files) + 1
        for key, have in self._insert_rows(night, by_key, environments, least).items():
            of = ran[*key[:2], _concept(key[2])]
            said = f"{have} of {of} processes gave a sound time, at least {least} must"
            if valid:
                problems.setdefault(key, said)
        self._database.executemany(
            "insert into problem values(?, ?, ?, ?, ?, ?)",
            [(night.machine, night.number, *key, problem) for key, problem in problems.items()],
        )

    def _insert_rows(
        self,
        night: Night,
        by_key: dict[_Key, dict[str, list[Timing]]],
        environments: dict[tuple[str, str], int],
        least: int,
    ) -> dict[_Key, int]:
        """Returns the rows that have fewer sound times than `least`, and how many."""
        values, unsound, too_few = [], [], {}
        for key, stages in by_key.items():
            sound = {
                stage: [timing for timing in timings if not timing.throttled]
                for stage, timings in stages.items()
            }
            where = (self._series(night.machine, *key), night.number, environments[key[:2]])
            if len(sound["first"]) < least:
                too_few[key] = len(sound["first"])
                unsound.append((*where, *conditions(stages["first"], stages["first"])))
                continue
            if len(sound["rerun"]) < least:
                sound["rerun"] = []
            values.append((*where, *night_value(sound["first"], sound["rerun"], stages["first"])))
        self._database.executemany(
            "insert into value values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values
        )
        self._database.executemany("insert into unsound values(?, ?, ?, ?, ?, ?, ?)", unsound)
        return too_few

    def _id(self, table: str, environment: Environment) -> int:
        run = self._database.execute
        fields = astuple(environment)
        run(
            f"insert or ignore into {table}(device, device_title, mode, driver, cuda, compiler,"
            " flags) values(?, ?, ?, ?, ?, ?, ?)",
            fields,
        )
        found = run(
            f"select id from {table} where device = ? and device_title = ? and mode = ?"
            " and driver = ? and cuda = ? and compiler = ? and flags = ?",
            fields,
        ).fetchone()
        return int(found[0])

    def _series(self, machine: str, device: str, mode: str, name: str) -> int:
        run = self._database.execute
        key = (machine, device, mode, name)
        found = run(
            "select id from series where machine = ? and device = ? and mode = ? and name = ?", key
        ).fetchone()
        if found is None:
            made = run("insert into series(machine, device, mode, name) values(?, ?, ?, ?)", key)
            return int(made.lastrowid or 0)
        return int(found[0])


def _concept(row: str) -> str:
    """A process runs all rows of a concept, or none of them."""
    return row.partition("/")[0]


@contextlib.contextmanager
def _writing(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction, alone from its first statement: two writers take turns."""
    database.execute("begin immediate")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has rolled it back already
            database.execute("rollback")
        raise
    database.execute("commit")
