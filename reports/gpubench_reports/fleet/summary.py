"""A judged fleet in words and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpubench_reports.charts.style import WATERMARK
from gpubench_reports.common.json_text import json_text
from gpubench_reports.common.units import plural, si
from gpubench_reports.fleet.findings import (
    ABSENT,
    FAILED,
    FIRMWARE,
    GPU,
    NODE,
    PARTIAL,
    RACK,
    Finding,
    Verdict,
)
from gpubench_reports.fleet.result_files import VERDICT
from gpubench_reports.fleet.table import Fleet, node_and_gpu

SCHEMA_VERSION = 1
_LISTED = 50  # findings in the terminal
_GROUPS = 4  # named in a line
# Draining is about nodes; what to do about a rack or a firmware is for people to decide, and a GPU
# whose run was interrupted is to be measured again.
_DRAINED = (GPU, NODE, FAILED, ABSENT)
_COUNTS = {
    FIRMWARE: ("slow firmware version", "slow firmware versions"),
    RACK: ("slow rack", "slow racks"),
    NODE: ("slow node", "slow nodes"),
    GPU: ("slow GPU", "slow GPUs"),
    FAILED: ("GPU with failed rows", "GPUs with failed rows"),
    PARTIAL: ("GPU with missing rows", "GPUs with missing rows"),
    ABSENT: ("GPU without a result", "GPUs without a result"),
}


def exit_code(verdict: Verdict) -> int:
    """0: nothing found; 1: something was; 2: no GPU could be judged by its peers."""
    if verdict.findings:
        return 1
    return 0 if verdict.peers else 2


def text(verdict: Verdict) -> str:
    """The findings for the terminal, and a last line that counts them."""
    lines = [size_of(verdict.fleet)]
    if verdict.fleet.modelled:
        lines[0] += f" · {WATERMARK}"
    for finding in verdict.findings[:_LISTED]:
        lines += ["", *_lines(verdict, finding)]
    if len(verdict.findings) > _LISTED:
        lines += [
            "",
            f"... and {len(verdict.findings) - _LISTED} more: --json and the page list all",
        ]
    if verdict.notes:
        lines += ["", *(f"note: {note}" for note in verdict.notes)]
    return "\n".join([*lines, "", counts(verdict)])


def size_of(fleet: Fleet) -> str:
    return f"{plural(fleet.size, 'GPU')}, {plural(len(fleet.names), 'row')}"


def counts(verdict: Verdict) -> str:
    found = {kind: sum(f.kind == kind for f in verdict.findings) for kind in _COUNTS}
    parts = [f"{n} {_COUNTS[kind][n != 1]}" for kind, n in found.items() if n]
    if parts:
        return ", ".join(parts)
    return "nothing found" if verdict.peers else "nothing could be judged"


def headline(verdict: Verdict, finding: Finding) -> str:
    """What is wrong, in one line."""
    if finding.kind == ABSENT:
        return f"no result: {finding.name}: {finding.says}"
    where = filter(None, (place(verdict, finding), verdict.fleet.run_of(finding.gpus[0])))
    words = ", ".join(where)
    name = finding.name + (f" ({words})" if words else "")
    if finding.kind == FAILED:
        return f"rows failed: {name}: {finding.says}"
    if finding.kind == PARTIAL:
        return f"rows missing: {name}: {finding.says}"
    kind = "GPU" if finding.kind == GPU else finding.kind
    many = f", {plural(len(finding.gpus), 'GPU')}" if finding.kind != GPU else ""
    return f"slow {kind} {name}{many}: {finding.slower:+.1%} time in {groups(finding.groups)}"


def place(verdict: Verdict, finding: Finding) -> str:
    """Where a slow GPU is, as far as the inventory says."""
    if finding.kind != GPU:
        return ""
    gpu = verdict.fleet.gpus.iloc[finding.gpus[0]]
    parts = (("rack", gpu["rack"]), ("slot", gpu["slot"]))
    return ", ".join(f"{what} {which}" for what, which in parts if which)


def groups(titles: Sequence[str]) -> str:
    more = len(titles) - _GROUPS
    return ", ".join(titles[:_GROUPS]) + (f" and {more} more" if more > 0 else "")


def why(finding: Finding) -> list[str]:
    """The likely cause, the evidence and where to look: a line each."""
    cause = finding.cause
    lines = [f"probably: {cause.says}"] if cause.says else []
    lines += [f"evidence: {cause.evidence}"] if cause.evidence else []
    return lines + ([f"look at: {cause.look}"] if cause.look else [])


def _lines(verdict: Verdict, finding: Finding) -> Iterator[str]:
    yield headline(verdict, finding)
    for row in finding.rows:
        times = f"{si(row.seconds, 's')}, its peers {si(row.peers_seconds, 's')}"
        yield f"    {row.slower:+7.1%}  {row.name}: {times}"
    yield from (f"    {line}" for line in why(finding))


def as_json(verdict: Verdict) -> str:
    """Everything, for other programs; `drain` lists the GPUs to take out of service."""
    fleet = verdict.fleet
    return json_text(
        {
            VERDICT: SCHEMA_VERSION,
            "modelled": fleet.modelled,
            "exit_code": exit_code(verdict),
            "gpus": fleet.size,
            "rows": len(fleet.names),
            "findings": [_finding(verdict, finding) for finding in verdict.findings],
            "drain": list(_drain(verdict)),
            "notes": verdict.notes,
        }
    )


def _finding(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "name": finding.name,
        "mode": verdict.fleet.gpus["mode"].iloc[finding.gpus[0]] if finding.gpus else None,
        "gpus": [verdict.fleet.gpus["machine"].iloc[gpu] for gpu in finding.gpus],
        "slower": finding.slower,
        "p_value": finding.p,
        "groups": finding.groups,
        "rows": finding.rows,
        "cause": finding.cause,
        "says": headline(verdict, finding),
    }


def _drain(verdict: Verdict) -> Iterator[dict[str, str]]:
    """A GPU a line, or a machine of which only the name is known."""
    seen: set[str] = set()
    columns = ["machine", "node", "gpu", "uuid", "rack", "slot"]
    for finding in verdict.findings:
        if finding.kind not in _DRAINED:
            continue
        lines = [
            {column: str(gpu[column]) for column in columns}
            for gpu in verdict.fleet.gpus[columns].iloc[list(finding.gpus)].to_dict("records")
        ]
        if finding.kind == ABSENT:
            node, gpu = node_and_gpu(finding.name)
            lines = [{"machine": finding.name, "node": node, "gpu": gpu}]
        for line in lines:
            if line["machine"] not in seen:
                seen.add(line["machine"])
                yield {**line, "reason": headline(verdict, finding)}
