"""Judges a fleet: firmware, then racks, nodes and GPUs, each among its peers.

What a whole rack or node has in common is one finding, and is taken off its GPUs before they are
judged. So is what GPUs of one firmware have in common.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from gpubench_reports.common.units import plural
from gpubench_reports.fleet import judging
from gpubench_reports.fleet.causes import Cause, Times, cause_of, labels_of
from gpubench_reports.fleet.gaps import gaps
from gpubench_reports.fleet.judging import ALPHA, FEWEST, Group
from gpubench_reports.fleet.table import PROGRAM, STATE, Fleet

GPU, NODE, RACK, FIRMWARE = "gpu", "node", "rack", "firmware"
FAILED, PARTIAL, ABSENT = "failed", "partial", "absent"
_FIRMWARE = ("driver", "cuda", "vbios")
_FEWEST_OF_A_PLACE = 3  # GPUs whose median stands for their node or rack
_FEWEST_OF_A_FIRMWARE = 8  # GPUs that are each other's peers
_MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean, normal distribution
_SHOWN_ROWS = 5
_NAMED = 4  # GPUs in a note
_MOST_CAUSES = 50  # GPUs, the surest ones, for which a cause is sought
_PLACES = (RACK, NODE)


@dataclass(frozen=True)
class SlowRow:
    """`slower` is the time over that of the peers, less 1."""

    name: str
    slower: float
    seconds: float
    peers_seconds: float


@dataclass(frozen=True)
class Finding:
    """Something is wrong with these GPUs (numbers in the fleet).

    kind      GPU, NODE, RACK or FIRMWARE: they are slow; FAILED: rows failed; PARTIAL: rows are
              missing; ABSENT: no result
    slower    the median of the slow rows' slowdown; NaN where nothing is slow
    groups    which rows are slow, for people
    rows      the slowest of them
    """

    kind: str
    name: str
    gpus: tuple[int, ...]
    slower: float = float("nan")
    groups: tuple[str, ...] = ()
    rows: tuple[SlowRow, ...] = ()
    p: float = float("nan")
    cause: Cause = field(default_factory=Cause)
    says: str = ""


@dataclass(frozen=True)
class Peers:
    """GPUs of one kind, and how long each takes over its peers: `excess` is [gpu, row], the
    logarithm, against GPUs of the same firmware. Racks and nodes are in it."""

    title: str  # in words, what tells them from other kinds
    device: str
    mode: str
    members: np.ndarray
    rows: np.ndarray
    excess: np.ndarray
    groups: tuple[Group, ...]
    reference: np.ndarray  # [gpu, row] the median time of those
    names: list[str]  # of the rows
    state: list[np.ndarray]  # clock, temperature and throttling by row, the medians over all GPUs


@dataclass(frozen=True)
class Verdict:
    fleet: Fleet
    peers: tuple[Peers, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # what is not judged, or is worth knowing


def judge_fleet(fleet: Fleet) -> Verdict:
    """Finds what is slow, failed or absent in the fleet."""
    peers: list[Peers] = []
    findings: list[Finding] = []
    notes: list[str] = []
    missing: list[tuple[int, str]] = []
    kinds = fleet.gpus.groupby(["device", "mode", *PROGRAM], sort=True).indices
    for (device, mode, *_), members in kinds.items():
        missing += gaps(fleet, members)
        if len(members) < FEWEST:
            notes.append(
                f"{_title(fleet, members)}: not judged: only {plural(len(members), 'GPU')} of this "
                f"kind; at least {FEWEST} are needed"
            )
            continue
        own, shifts, mixed = _peers_of(fleet, str(device), str(mode), members)
        notes += mixed
        findings += shifts
        runs = fleet.gpus["runs"].to_numpy()[members]
        judged = judging.judgeable(own.excess, own.groups, runs)
        lacking = {at for at, _ in missing} if judged.any() else set()  # which is a finding
        unjudged = np.array([at for at in members[~judged] if at not in lacking], dtype=int)
        if len(unjudged):
            notes.append(_too_few_rows(fleet, own, unjudged))
        if not judged.any():
            continue
        peers.append(own)
        findings += _places_and_gpus(fleet, own, ALPHA / len(kinds))
    findings += [
        Finding(FAILED, machine, (at,), says="; ".join(failed[:_SHOWN_ROWS]))
        for at, (machine, failed) in enumerate(
            zip(fleet.gpus["machine"], fleet.gpus["failed"], strict=True)
        )
        if failed
    ]
    findings += [
        Finding(PARTIAL, str(fleet.gpus["machine"].iloc[at]), (at,), says=why)
        for at, why in missing
    ]
    findings += [Finding(ABSENT, machine, (), says=why) for machine, why in fleet.absent]
    return Verdict(fleet, tuple(peers), tuple(findings), (*notes, *_caveats(fleet)))


def _too_few_rows(fleet: Fleet, own: Peers, unjudged: np.ndarray) -> str:
    """That the `unjudged` GPUs have too few rows, and what became of the others."""
    names = [str(name) for name in fleet.gpus["machine"].iloc[unjudged]]
    who = "" if len(names) == len(own.members) else f"{_listed(names)} "
    lost = Counter(why for each in fleet.gpus["lost"].iloc[unjudged] for why in each.values())
    why = f"; of other rows, most were {lost.most_common(1)[0][0]}" if lost else ""
    return (
        f"{own.title}: {who}not judged: too few rows that {FEWEST} GPUs have: "
        f"{judging.AGREE} of a concept are needed, or one that was measured twice{why}"
    )


def _listed(machines: list[str]) -> str:
    more = f" and {len(machines) - _NAMED} more" if machines[_NAMED:] else ""
    return f"{', '.join(machines[:_NAMED])}{more}"


def _caveats(fleet: Fleet) -> Iterator[str]:
    """What the result files say to know of GPUs, and of which."""
    of_gpus: dict[str, list[str]] = {}
    for machine, caveats in zip(fleet.gpus["machine"], fleet.gpus["caveats"], strict=True):
        for caveat in caveats:
            of_gpus.setdefault(caveat, []).append(machine)
    for caveat, machines in of_gpus.items():
        yield f"{_listed(machines)}: {caveat}"


def _peers_of(
    fleet: Fleet, device: str, mode: str, members: np.ndarray
) -> tuple[Peers, list[Finding], list[str]]:
    """The GPUs of a kind as each other's peers, and what their firmware makes of them."""
    seconds = fleet.seconds[members]
    rows = np.flatnonzero(np.isfinite(seconds).sum(axis=0) >= FEWEST)
    logs = np.log(seconds[:, rows])
    names = [fleet.names[row] for row in rows]
    groups = groups_of(device, mode, names)
    firmware = fleet.gpus.iloc[members][list(_FIRMWARE)]
    kinds = list(firmware.groupby(list(_FIRMWARE), sort=True).indices.items())
    kinds.sort(key=lambda kind: -len(kind[1]))
    centre = np.tile(judging.median_of(logs[kinds[0][1]]), (len(members), 1))
    for _, of_kind in kinds[1:]:
        if len(of_kind) >= _FEWEST_OF_A_FIRMWARE:
            centre[of_kind] = judging.median_of(logs[of_kind])
    if len(kinds[0][1]) < _FEWEST_OF_A_FIRMWARE:  # none is common: all of them are peers
        centre[:] = judging.median_of(logs)
    state = _state(fleet, members, rows)
    title, excess = _title(fleet, members), logs - centre
    own = Peers(title, device, mode, members, rows, excess, groups, np.exp(centre), names, state)
    titles = _titles([kind for kind, _ in kinds])
    large = [
        (title, of_kind)
        for title, (_, of_kind) in zip(titles, kinds, strict=True)
        if len(of_kind) >= _FEWEST_OF_A_FIRMWARE
    ]
    shifts = list(_firmware_shifts(fleet, own, large))
    notes = []
    if len(kinds) > 1 and not shifts:
        parts = ", ".join(
            f"{len(of_kind)} with {title}"
            for title, (_, of_kind) in zip(titles, kinds, strict=True)
        )
        notes.append(f"{own.title}: mixed firmware, no measurable cost: {parts}")
    return own, shifts, notes


def _title(fleet: Fleet, members: np.ndarray) -> str:
    """The kind of these GPUs, in words."""
    device = str(fleet.gpus["device"].iloc[members[0]])
    return ", ".join(filter(None, (device, fleet.run_of(members[0]))))


def groups_of(device: str, mode: str, names: list[str]) -> tuple[Group, ...]:
    """The rows of each concept, and those that each part of the GPU limits."""
    concepts = pd.Series([name.partition("/")[0] for name in names])
    found = [
        Group(str(c), np.asarray(rows)) for c, rows in concepts.groupby(concepts).indices.items()
    ]
    limits = pd.Series(labels_of(device, mode, names))
    found += [
        Group(f"rows limited by {part}", np.asarray(rows))
        for part, rows in limits.groupby(limits).indices.items()
        if part
    ]
    return tuple(found)


def _titles(kinds: list[tuple[str, ...]]) -> list[str]:
    """What tells each firmware from the others, in words."""
    differing = [at for at in range(len(_FIRMWARE)) if len({kind[at] for kind in kinds}) > 1]
    return [
        ", ".join(f"{_FIRMWARE[at]} {kind[at] or 'unknown'}" for at in differing) for kind in kinds
    ]


def _firmware_shifts(
    fleet: Fleet, own: Peers, kinds: list[tuple[str, np.ndarray]]
) -> Iterator[Finding]:
    """A finding for each firmware whose GPUs are slower than those of the most common one, or for
    that one where it is the slower."""
    if len(kinds) < 2:
        return
    sigma, _ = judging.scale_of(own.excess)
    for title, of_kind in kinds[1:]:
        usual_title, usual = kinds[0]
        error = sigma * _MEDIAN_ERROR * np.sqrt(1 / len(of_kind) + 1 / len(usual))
        shift = np.log(own.reference[of_kind[0]] / own.reference[usual[0]])
        pairs = ((title, of_kind, usual_title, shift), (usual_title, usual, title, -shift))
        for slow_title, slow, other, by in pairs:
            confirmed = np.array([2])  # each median stands for many GPUs
            tests = judging.p_of_groups(by[None, :], error, np.inf, own.groups, confirmed)[0]
            tests = np.minimum(tests * len(own.groups) * 2 * (len(kinds) - 1), 1.0)
            if len(tests) and tests.min() <= ALPHA:
                reference = own.reference[slow[0]] / np.exp(by)
                found = _Slow(by, tests <= ALPHA, float(tests.min()))
                name = f"{slow_title} (against {other})"
                yield _finding(fleet, own, FIRMWARE, name, slow, found, reference)


def _places_and_gpus(fleet: Fleet, own: Peers, alpha: float) -> Iterator[Finding]:
    excess = own.excess
    for place in _PLACES:
        labels = fleet.gpus.iloc[own.members][place].to_numpy()
        slow, shift = _slow_places(excess, labels, own.groups, alpha)
        for label, found in slow.items():
            of_place = np.flatnonzero(labels == label)
            reference = judging.median_of(own.reference[of_place])
            yield _finding(fleet, own, place, label, of_place, found, reference)
        excess = excess - shift
    runs = fleet.gpus["runs"].to_numpy()[own.members]
    judged = judging.judge(excess, own.groups, runs)
    order = np.flatnonzero(judging.named(judged.p, alpha))
    gpus = []
    for count, at in enumerate(order[np.argsort(judged.p[order], kind="stable")]):
        machine = str(fleet.gpus["machine"].iloc[own.members[at]])
        found = _Slow(excess[at], judged.slow[at], float(judged.p[at]))
        reference = own.reference[at]
        with_cause = count < _MOST_CAUSES
        gpus.append(
            _finding(fleet, own, GPU, machine, np.array([at]), found, reference, with_cause)
        )
    yield from sorted(gpus, key=lambda one: -one.slower)


@dataclass(frozen=True)
class _Slow:
    """By how much the rows of a GPU, place or firmware are slow, which groups, and how surely."""

    excess: np.ndarray
    groups: np.ndarray
    p: float


def _slow_places(
    excess: np.ndarray, labels: np.ndarray, groups: tuple[Group, ...], alpha: float
) -> tuple[dict[str, _Slow], np.ndarray]:
    """The slow ones among the places with these labels, by the medians of their GPUs; and, as
    [gpu, row], what that takes off each GPU."""
    shift = np.zeros(excess.shape)
    members = {
        str(label): np.asarray(at)
        for label, at in pd.Series(labels).groupby(labels).indices.items()
        if label and len(at) >= _FEWEST_OF_A_PLACE
    }
    if len(members) < FEWEST:
        return {}, shift
    medians = np.array([judging.median_of(excess[at]) for at in members.values()])
    medians -= judging.median_of(medians)
    judged = judging.judge(medians, groups, np.ones(len(members)))
    found = {}
    for number in np.flatnonzero(judging.named(judged.p, alpha)):
        label = list(members)[number]
        found[label] = _Slow(medians[number], judged.slow[number], float(judged.p[number]))
        shift[members[label]] = np.nan_to_num(medians[number])
    return found, shift


def _finding(
    fleet: Fleet,
    own: Peers,
    kind: str,
    name: str,
    gpus: np.ndarray,
    slow: _Slow,
    reference: np.ndarray,
    with_cause: bool = True,
) -> Finding:
    """A finding about `gpus` (numbers among the peers), whose peers take `reference` [row]."""
    excess = slow.excess
    groups = [group for group, is_slow in zip(own.groups, slow.groups, strict=True) if is_slow]
    at = np.unique(np.concatenate([group.rows for group in groups])) if groups else None
    at = np.arange(len(excess)) if at is None else at
    at = at[np.nan_to_num(excess[at]) >= np.log1p(judging.FLOOR)]
    if not len(at):  # only all rows together are slow enough to be sure
        at = np.flatnonzero(np.isfinite(excess))
    at = at[np.argsort(-excess[at], kind="stable")]
    rows = tuple(
        SlowRow(
            own.names[row],
            float(np.expm1(excess[row])),
            float(reference[row] * np.exp(excess[row])),
            float(reference[row]),
        )
        for row in at[:_SHOWN_ROWS]
    )
    members = own.members[gpus]
    return Finding(
        kind,
        name,
        tuple(int(one) for one in members),
        float(np.expm1(np.median(excess[at]))),
        tuple(group.title for group in groups) or ("all rows",),
        rows,
        slow.p,
        _cause(fleet, own, members, excess, reference) if with_cause else Cause(),
    )


def _cause(
    fleet: Fleet, own: Peers, members: np.ndarray, excess: np.ndarray, reference: np.ndarray
) -> Cause:
    mine = Times(own.names, reference * np.exp(excess), *_state(fleet, members, own.rows))
    usual = Times(own.names, reference, *own.state)
    seen = fleet.gpus["state"].iloc[members[0]] if len(members) == 1 else {}
    return cause_of(own.device, own.mode, mine, usual, seen)


def _state(fleet: Fleet, members: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Clock, temperature and throttling of these GPUs in each row, by the median."""
    at = np.ix_(members, rows)
    return [judging.median_of(getattr(fleet, name)[at]) for name in STATE]
