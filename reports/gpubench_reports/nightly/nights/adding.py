"""Takes result files that were measured elsewhere into the store, as one night."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from gpubench_reports.common.dates import moment_of
from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.names import folder_name, machine_folder
from gpubench_reports.nightly.store.process_file import ProcessFile, read_process, refuse_other_kind
from gpubench_reports.nightly.store.store import Night, Store, checksum, now

_ONE_NIGHT = timedelta(hours=24)  # its files are begun within it


def add(store: Store, index: Index, paths: Sequence[Path], machine: str) -> Night:
    """Stores the files as one night, all or none; a night that is there already is returned.

    Raises ReportError for a file that is no result file or not of the store's kind.
    """
    files = [read_process(path) for path in paths]
    for file in files:
        refuse_other_kind(file.context, file.path, store.rehearsal)
        if file.context.interrupted:
            raise ReportError(file.path, "was interrupted: finish it with --resume")
    _require_one_making(files, is_named=bool(machine))
    began = _began(files)
    named = machine and machine_folder(machine)
    machine = named or folder_name(f"{files[0].host}-{files[0].environment.device}")
    sums = [checksum(path) for path in paths]
    for number, path in enumerate(paths):
        if sums[number] in sums[:number]:
            raise ReportError(path, f"has the same content as {paths[sums.index(sums[number])]}")
    query = "select machine, number from file where sha256 = ?"
    known = [set(index.rows(query, (sha256,))) for sha256 in sums]
    nights = set[tuple[str, int]]().union(*known)
    if len(nights) == 1 and all(known):
        ((at, number),) = nights
        return next(night for night in store.nights(at) if night.number == number)
    for path, of_file in zip(paths, known, strict=True):
        if of_file:
            raise ReportError(path, "is part of a night already")
    for night in store.nights(machine):
        # One that was killed before it was complete.
        if not night.has("done.json") and {checksum(p) for p in night.results()} == set(sums):
            night.close({"ended": now()})
            return night
    if began is not None:
        _require_later(index, machine, paths[0], began)
    plan = {
        "began": began.isoformat(timespec="seconds") if began else now(),
        "units": [],
        "added": [str(path.name) for path in paths],
    }
    copies = {
        f"first-{number}-{folder_name(path.stem)}.json": path
        for number, path in enumerate(paths, start=1)
    }
    night = store.begin(machine, plan, copies)
    night.close({"ended": now()})
    return night


def reservations(paths: Sequence[Path]) -> list[str]:
    """What to know of the files' runs, such as that others used the GPU: each once."""
    said = [sentence for path in paths for sentence in read_process(path).context.reservations]
    return list(dict.fromkeys(said))


def _require_one_making(files: Sequence[ProcessFile], is_named: bool) -> None:
    """Raises ReportError for files that are not of one program on one GPU, as far as they say."""
    first = files[0].path
    if len({file.environment for file in files}) > 1:
        raise ReportError(first, "and the others differ in device, driver, CUDA or compiler")
    if len(commits := {file.context.git_commit for file in files}) > 1:
        raise ReportError(
            first, f"and the others are from {len(commits)} commits; a night is of one"
        )
    if len({file.context.made_from for file in files}) > 1:
        raise ReportError(first, "and the others differ in whether their commit had changes")
    if is_named:  # a container's name may be new each time, and a pool has many GPUs
        return
    if len(hosts := {file.host for file in files}) > 1:
        raise ReportError(
            first, f"and the others are from {len(hosts)} hosts; name the machine with --machine"
        )
    gpus = {file.context.device_state.get("uuid") for file in files} - {None}
    if len(gpus) > 1:
        raise ReportError(
            first, f"and the others are from {len(gpus)} GPUs; name their pool with --machine"
        )


def _began(files: Sequence[ProcessFile]) -> datetime | None:
    """The earliest of the files' dates, in UTC as those of nights that were measured here; None if
    they say none. Raises ReportError if they are not of one night."""
    known = [(moment, file) for file in files if (moment := moment_of(file.context.date))]
    if not known:
        return None
    first, last = (pick(known, key=lambda dated: dated[0]) for pick in (min, max))
    if last[0] - first[0] > _ONE_NIGHT:
        hours = _ONE_NIGHT // timedelta(hours=1)
        when = f"was begun {_shown(last[0])}, and {first[1].path} {_shown(first[0])}"
        raise ReportError(last[1].path, f"{when}: files of one night lie within {hours} hours")
    return first[0]


def _require_later(index: Index, machine: str, path: Path, began: datetime) -> None:
    """Raises ReportError for a night before the latest of the machine's: nights are judged in the
    order in which they are added, and an older one would show changes the wrong way round. A night
    that a wrong clock has put into the future keeps none out."""
    nights = index.rows(
        "select number, date from night where machine = ? and state <> 'duplicate'", (machine,)
    )
    known = [(moment, number) for number, date in nights if (moment := moment_of(date))]
    present = moment_of(now())
    past = [(moment, number) for moment, number in known if present and moment <= present]
    if past and began < max(past)[0]:
        last, number = max(past)
        when = f"was begun {_shown(began)}, before night {number} of {_shown(last)}"
        way = "add nights in their order, or with a --machine of their own"
        raise ReportError(path, f"{when}: {way}")


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")
