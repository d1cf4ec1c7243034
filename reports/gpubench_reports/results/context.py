"""What a result file says of the machine and the run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpubench_reports.results import legacy
from gpubench_reports.results.checking import Checker, shown, texts_of, words_of

SCHEMA_VERSION = 2  # what the importers write; docs/result-file.schema.json says what it holds
_READ = (legacy.SCHEMA_VERSION, SCHEMA_VERSION)

# Where a roof comes from: the run itself, or the device file (its README says what each means).
PROVENANCES_OF_RUN = ("measured", "modelled")
PROVENANCES = (
    *PROVENANCES_OF_RUN,
    "data_sheet",
    "published",
    "calibrated",
    "derived",
    "assumed",
)


@dataclass(frozen=True)
class Roof:
    """A ceiling: of memory or a link (kind "bandwidth"), or of arithmetic (kind "compute")."""

    name: str
    kind: str
    value: float
    unit: str  # "B/s", "FLOP/s" or, of whole numbers, "OP/s"
    provenance: str  # one of PROVENANCES
    source: str


@dataclass(frozen=True)
class Context:
    """What a file says about machine and run. Text that is absent is empty, a number NaN."""

    device_kind: str
    device: str
    device_title: str
    own_device_file: bool  # modelled, and not with the file that ships under the device's name
    date: str
    mode: str
    suite: str
    filter: str  # of the rows that were run; empty: all of the suite
    driver_version: str
    cuda_version: str
    compiler: str
    compiler_flags: str | None  # None where the file does not say
    git_commit: str
    git_dirty: bool
    imported_from: str  # the program whose output was imported; empty for our own
    run_seconds: float  # from the first row to the last
    roofs: tuple[Roof, ...]
    schema_version: int
    concepts: Mapping[str, str]  # the question that each concept asks
    axes: Mapping[str, str]  # what one step of a swept argument is, such as "bytes"
    conditions: str  # the faults and delays that were injected into a model
    device_state: Mapping[str, Any]  # ecc, pcie_width, ...: docs/result-format.md
    caveats: tuple[str, ...]  # sentences about the device, such as that others used it too
    resumed: tuple[str, ...]  # when another process went on with the run
    interrupted: bool  # rows that were to be run are missing
    not_run: int  # how many, as far as the run's journal says; 0 where that is not known

    @property
    def older(self) -> bool:
        """Whether its rows do not state what they are judged by: see legacy.py."""
        return self.schema_version == legacy.SCHEMA_VERSION

    @property
    def made_from(self) -> str:
        """The commit; a tree with changes is not its commit's."""
        return self.git_commit + ("-dirty" if self.git_dirty else "")

    @property
    def modelled(self) -> bool:
        return self.device_kind == "model"

    def same_program(self, other: "Context") -> bool:
        """Whether both runs are of one build, as far as the files tell: one commit without changes,
        compiled alike."""
        mine, theirs = (
            (c.git_commit, c.compiler, c.compiler_flags, c.cuda_version) for c in (self, other)
        )
        return bool(self.git_commit) and mine == theirs and not (self.git_dirty or other.git_dirty)

    @property
    def reservations(self) -> list[str]:
        """What a reader must know before anything else: rows are missing, others used the GPU."""
        said = []
        if self.interrupted:
            count, verb = self.not_run or "some", "was" if self.not_run == 1 else "were"
            said.append(f"this run was interrupted: {count} of its rows {verb} not run")
        if self.resumed:
            last = self.resumed[-1][:16].replace("T", " ")
            times = f"{len(self.resumed)} times, last at" if len(self.resumed) > 1 else "at"
            said.append(f"this run was broken off and resumed by another process {times} {last}")
        if self.conditions:
            said.append(
                f"conditions (faults, delays) were injected into the model: {self.conditions}"
            )
        return [*said, *self.caveats]

    @property
    def verb(self) -> str:
        """How this file came by its numbers: "modelled" or "measured"."""
        return "modelled" if self.modelled else "measured"


def context_of(check: Checker, context: dict[str, Any]) -> Context:
    if "schema_version" not in context:
        raise check.fail(
            "",
            "not a gpubench result file: its context has no 'schema_version' "
            "(plain Google Benchmark output?)",
        )
    version = context["schema_version"]
    if version not in _READ or isinstance(version, bool):
        known = " and ".join(map(str, _READ))
        raise check.fail(
            "context", f"schema_version is {shown(version)}, this program reads {known}"
        )
    older = version == legacy.SCHEMA_VERSION
    kind = check.text(context, "device_kind", "context")
    if kind not in ("model", "cuda"):
        raise check.fail("context", f"device_kind is {shown(kind)}, must be 'model' or 'cuda'")
    device = check.text(context, "device", "context")
    roofs = context.get("roofs", [])
    if not isinstance(roofs, list):
        raise check.fail("context", f"'roofs' must be a list, not {shown(roofs)}")
    state = context.get("device_state", {})
    if not isinstance(state, dict):
        raise check.fail("context", f"'device_state' must be an object, not {shown(state)}")
    return Context(
        device_kind=kind,
        device=device,
        device_title=check.text(context, "device_title", "context", device),
        own_device_file=check.flag(context, "own_device_file", "context"),
        date=check.text(context, "date", "context", ""),
        mode=check.text(context, "mode", "context", ""),
        suite=check.text(context, "suite", "context", ""),
        filter=check.text(context, "filter", "context", ""),
        driver_version=check.text(context, "driver_version", "context", ""),
        cuda_version=check.text(context, "cuda_version", "context", ""),
        compiler=check.text(context, "compiler", "context", ""),
        compiler_flags=check.text(context, "compiler_flags", "context", "")
        if "compiler_flags" in context
        else None,
        git_commit=check.text(context, "git_commit", "context", ""),
        git_dirty=check.flag(context, "git_dirty", "context"),
        imported_from=check.text(context, "imported_from", "context", ""),
        run_seconds=check.positive(context, "run_seconds", "context")
        if "run_seconds" in context
        else math.nan,
        roofs=tuple(_roof(check, index, roof, older) for index, roof in enumerate(roofs)),
        schema_version=version,
        concepts=words_of(check, context, "concepts", "context"),
        axes=legacy.AXIS_UNITS if older else words_of(check, context, "axes", "context"),
        conditions=check.text(context, "conditions", "context", ""),
        device_state=state,
        caveats=tuple(filter(None, texts_of(check, context, "caveats", "context"))),
        resumed=tuple(texts_of(check, context, "resumed", "context")),
        interrupted=check.flag(context, "interrupted", "context"),
        not_run=0,
    )


def _roof(check: Checker, index: int, roof: Any, older: bool) -> Roof:
    where = f"roof {index + 1}"
    if not isinstance(roof, dict):
        raise check.fail(where, f"must be an object, not {shown(roof)}")
    name = check.text(roof, "name", where)
    where = f"roof '{name}'"
    kind = check.text(roof, "kind", where)
    if kind not in ("bandwidth", "compute"):
        raise check.fail(where, f"kind is {shown(kind)}, must be 'bandwidth' or 'compute'")
    provenance = check.text(roof, "provenance", where)
    if provenance not in PROVENANCES:
        raise check.fail(
            where, f"provenance is {shown(provenance)}, must be one of {', '.join(PROVENANCES)}"
        )
    return Roof(
        name=name,
        kind=kind,
        value=check.positive(roof, "value", where),
        unit=legacy.roof_unit(kind, name) if older else check.text(roof, "unit", where),
        provenance=provenance,
        source=check.text(roof, "source", where, ""),
    )
