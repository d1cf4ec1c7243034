"""The store: a folder whose immutable files are the truth. The index beside them is derived.

    STORE/store.json                          what kind of nights: measured, or a rehearsal
    STORE/settings.toml                       optional
    STORE/nights/MACHINE/000123/plan.json     a night, numbered as it was begun
                               first-1-stream.json ...   one file a fresh process
                               rerun-1-stream.json ...   measured again, where it looked suspicious
                               done.json      names and checksums of those; the night is complete
                               verdict.json   what was found when it was judged
    STORE/decisions/*.json                    what people accepted and acknowledged
    STORE/quarantine/                         files that were no result files, and why

Nights are ordered by their number, not by a clock that can be set back. Every file appears whole
or not at all, and none is ever written twice. A folder of nights may be copied from machine to
machine while it grows.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, open_file, reason
from gpubench_reports.common.names import is_file_name, is_utf8
from gpubench_reports.common.plain_text import clean, cleaned
from gpubench_reports.nightly.store.decision_files import is_decision
from gpubench_reports.results.checking import parse

SCHEMA = 1
KINDS = ("measured", "rehearsal")
_NOT_RESULTS = ("plan.json", "done.json", "verdict.json")
_MOST_DIGITS = 15  # of a night's number
# A damaged file that is younger than this may still be on its way here.
_SETTLED_SECONDS = 60.0


def now() -> str:
    """This machine's time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def publish(path: Path, content: bytes) -> None:
    """Writes a new file: whole, on the disk, and never over another one.

    Raises FileExistsError if there is one, ReportError when it cannot be written.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        os.link(temporary, path)
        _sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise ReportError(path, f"cannot write: {reason(error)}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(path: Path) -> str:
    """SHA-256 of the file's bytes, in hexadecimal."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_settled(path: Path) -> bool:
    """Whether nobody is copying the file any more: it was written long ago, or is no file."""
    found = path.lstat()
    with contextlib.suppress(OSError):  # of a link that leads nowhere
        found = path.stat()
    is_file = stat.S_ISREG(found.st_mode)
    return not is_file or abs(time.time() - found.st_mtime) >= _SETTLED_SECONDS


def _size(entry: os.DirEntry[str]) -> int:
    """Size of a file [bytes]; if it is a link that leads nowhere, that of the link."""
    try:
        return entry.stat().st_size
    except OSError:
        return entry.stat(follow_symlinks=False).st_size


def as_json(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if not is_utf8(text):  # of the command line: what comes from files is cleaned
        raise ReportError("the command line", "holds text that is not UTF-8")
    return text.encode()


def is_done(document: dict[str, Any]) -> bool:
    """Whether a done.json lists files as `Night.close` does."""
    files = document.get("files", {})
    return isinstance(files, dict) and all(
        is_file_name(name) and isinstance(file, dict) and isinstance(file.get("sha256"), str)
        for name, file in files.items()
    )


def lock(stream: IO[Any], subject: Path | str, problem: str) -> None:
    """Locks the open file; ReportError with this problem if another process has.

    The system lets go when this process and all that it has started with its open files are dead:
    a program whose night was killed measures on.
    """
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.set_inheritable(stream.fileno(), True)
    except OSError:
        raise ReportError(subject, problem) from None


@dataclass(frozen=True)
class Night:
    """One night's folder."""

    machine: str
    number: int
    path: Path

    def document(self, name: str) -> dict[str, Any] | None:
        """plan.json, done.json or verdict.json; None if it is not there. ReportError if corrupt."""
        path = self.path / name
        if not os.path.lexists(path):
            return None
        found = parse(path)
        if name == "verdict.json":  # the others' names of files are judged as they are
            found = cleaned(found)
        if not isinstance(found, dict):
            raise ReportError(path, "the top level is no JSON object")
        return found

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def results(self) -> list[Path]:
        """The processes' files that are here."""
        return sorted(
            path
            for path in self.path.glob("*.json")
            if path.name not in _NOT_RESULTS and not path.name.startswith(".")
        )

    def fingerprint(self) -> str:
        """Changes when a file of the night comes, goes or has another size."""
        with os.scandir(self.path) as entries:
            listed = sorted((e.name, _size(e)) for e in entries if e.name.endswith(".json"))
        return hashlib.sha256(repr(listed).encode()).hexdigest()[:32]

    def close(self, what: dict[str, Any]) -> None:
        """Writes done.json over the results that are here. Harmless if it is there already."""
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": checksum(path)}
            for path in self.results()
        }
        with contextlib.suppress(FileExistsError):
            publish(self.path / "done.json", as_json({"schema": SCHEMA, **what, "files": files}))


@dataclass(frozen=True)
class Store:
    """`read_only`: nothing in it is changed. A damaged file then stays where it is, and is noted in
    `damaged` instead."""

    root: Path
    rehearsal: bool
    read_only: bool = False
    damaged: dict[Path, str] = field(default_factory=dict, compare=False)

    @classmethod
    def open(cls, root: Path, rehearsal: bool, create: bool = False) -> "Store":
        """The store in `root`, which must be of the kind asked for. ReportError otherwise."""
        marker = root / "store.json"
        if create and not marker.exists():
            kind = KINDS[int(rehearsal)]
            try:
                for name in ("nights", "decisions", "quarantine"):
                    (root / name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ReportError(root, f"cannot make a store here: {reason(error)}") from None
            with contextlib.suppress(FileExistsError):
                publish(marker, as_json({"schema": SCHEMA, "kind": kind, "made": now()}))
        if not marker.exists():
            raise ReportError(
                root, "is no store of nights: it has no store.json; the first night makes it"
            )
        document = parse(marker)
        kind = document.get("kind", "") if isinstance(document, dict) else ""
        if kind not in KINDS or document.get("schema") != SCHEMA:
            raise ReportError(marker, "is not a store that this program knows")
        if (kind == "rehearsal") != rehearsal:
            raise ReportError(
                root,
                "is a rehearsal of modelled nights: say --rehearsal"
                if kind == "rehearsal"
                else "holds measured nights: a rehearsal needs a store of its own",
            )
        return cls(root, rehearsal)

    @property
    def index_path(self) -> Path:
        return self.root / "index.sqlite"

    def machines(self) -> list[str]:
        try:
            with os.scandir(self.root / "nights") as entries:
                names = sorted(e.name for e in entries if not e.name.startswith("."))
        except FileNotFoundError:
            return []
        names = [name for name in names if (self.root / "nights" / name).is_dir()]
        for name in names:
            if not is_utf8(name):
                raise ReportError(self.root / "nights" / name, "its name is not UTF-8: rename it")
            if clean(name) != name:
                raise ReportError(
                    self.root / "nights" / name, "its name has control characters: rename it"
                )
        return names

    def nights(self, machine: str) -> list[Night]:
        """All nights of the machine, in the order in which they were begun."""
        folder = self.root / "nights" / machine
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.isdecimal())
        except FileNotFoundError:
            return []
        for name in names:
            if not re.fullmatch(f"[0-9]{{1,{_MOST_DIGITS}}}", name):
                raise ReportError(folder / name, "its name is no number of a night: rename it")
        return [Night(machine, int(name), folder / name) for name in names]

    def begin(self, machine: str, plan: dict[str, Any], copies: dict[str, Path]) -> Night:
        """A new night with its plan.json, and files copied into it by name, all at once.

        Two at a time get two numbers. Raises ReportError when it cannot be written.
        """
        folder = self.root / "nights" / machine
        try:
            folder.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(dir=folder, prefix=".new-"))
        except OSError as error:
            raise ReportError(folder, f"cannot write: {reason(error)}") from None
        try:
            publish(made / "plan.json", as_json({"schema": SCHEMA, **plan}))
            for name, source in copies.items():
                try:
                    content = file_bytes(source)
                except OSError as error:
                    raise ReportError(source, f"cannot read: {reason(error)}") from None
                publish(made / name, content)
            made.chmod(0o755)
            number = 1 + max((night.number for night in self.nights(machine)), default=0)
            while True:
                path = folder / f"{number:06d}"
                if len(path.name) > _MOST_DIGITS:  # which nobody could read any more
                    raise ReportError(
                        folder / str(number - 1), "leaves no number for the next night: rename it"
                    )
                try:
                    made.rename(path)  # over a night it fails, since no night is empty
                    _sync_folder(folder)
                    return Night(machine, number, path)
                except OSError:
                    if not path.exists():
                        raise
                    number += 1
        except OSError as error:
            raise ReportError(folder, f"cannot write: {reason(error)}") from None
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def quarantine(self, path: Path, why: str) -> Path:
        """Puts a file aside, with the reason beside it; returns where it is now."""
        if self.read_only:
            self.damaged[self.aside(path)] = f"{why} (still in its place: the store is read-only)"
            return path
        place = self.aside(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            while os.path.lexists(place):
                place = place.with_name(f"{place.name}.{secrets.token_hex(3)}")
            path.rename(place)
            publish(place.with_name(place.name + ".why"), f"{now()} {why}\n".encode())
        except OSError as error:
            raise ReportError(path, f"cannot be put into quarantine: {reason(error)}") from None
        return place

    def aside(self, path: Path) -> Path:
        """Where a file of the store lies once it is in quarantine."""
        nights = self.root / "nights"
        within = nights if path.is_relative_to(nights) else self.root
        return self.root / "quarantine" / path.relative_to(within)

    def was_quarantined(self, path: Path) -> bool:
        """Whether that file was put aside; also once somebody has deleted it there."""
        place = self.aside(path)
        return place.with_name(place.name + ".why").exists()

    def quarantined(self) -> list[tuple[Path, str]]:
        """Every file that is in quarantine (relative to it), and why it is there."""
        folder = self.root / "quarantine"
        found = [(path.relative_to(folder), why) for path, why in self.damaged.items()]
        for path in folder.rglob("*.why"):
            with contextlib.suppress(OSError):  # a folder of this name, perhaps
                why = clean(file_bytes(path).decode("utf-8", "replace").strip())
                if os.path.lexists(path.with_suffix("")):
                    found.append((path.relative_to(folder).with_suffix(""), why))
        return sorted(found)

    def decide(self, decision: dict[str, Any]) -> Path:
        """Stores what somebody decided; returns the file."""
        stamp = re.sub(r"[^0-9TZ]", "", now()[:19])
        path = self.root / "decisions" / f"{stamp}-{secrets.token_hex(4)}.json"
        path.parent.mkdir(exist_ok=True)
        # The clock may have been set back since the one before.
        number = 1 + max((made.get("number", 0) for made in self.decisions()), default=0)
        publish(path, as_json({"schema": SCHEMA, "number": number, "made": now(), **decision}))
        return path

    def decisions(self) -> list[dict[str, Any]]:
        """All decisions, in the order in which they were made. A file that is none goes into
        quarantine, unless it may still be on its way here."""
        found = []
        for path in sorted((self.root / "decisions").glob("*.json")):
            try:
                document = cleaned(parse(path))
                if not is_decision(document):
                    raise ReportError(path, "is no decision")
                found.append(document)
            except ReportError as error:
                with contextlib.suppress(FileNotFoundError):  # another process was quicker
                    if is_settled(path):
                        self.quarantine(path, error.problem)
        return sorted(found, key=lambda decision: decision.get("number", 0))

    @contextlib.contextmanager
    def adding(self) -> Iterator[None]:
        """Held while it is found out whether a night may be added, and until it is there: of two at
        once, the second has to see the first. Waits for another process that holds it."""
        folder = self.root / "nights"
        with contextlib.ExitStack() as held:
            try:
                folder.mkdir(exist_ok=True)
                stream = held.enter_context((folder / ".adding").open("w"))
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError as error:
                raise ReportError(folder, f"cannot lock: {reason(error)}") from None
            yield

    @contextlib.contextmanager
    def measuring(self, machine: str) -> Iterator[None]:
        """Held while a night of the machine is measured, so that its nights follow one another.

        Raises ReportError if another process holds it.
        """
        folder = self.root / "nights" / machine
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stream = (folder / ".measuring").open("w")
        except OSError as error:
            raise ReportError(folder, f"cannot write: {reason(error)}") from None
        with stream:
            lock(stream, folder, "another night is being measured here")
            for leftover in (*folder.glob(".new-*"), *folder.glob("*/.part-*")):
                # Left by a killed process; a night that is still being copied in is not that old.
                if abs(time.time() - leftover.stat().st_mtime) > 3600:
                    shutil.rmtree(leftover, ignore_errors=True)
                    leftover.unlink(missing_ok=True)
            yield
