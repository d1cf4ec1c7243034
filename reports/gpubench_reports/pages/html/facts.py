"""What the page says, worked out once before any of it is drawn or written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpubench_reports.comparisons import speedups
from gpubench_reports.comparisons.compare import Comparison, compare
from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.claims import Finding, judge_claims
from gpubench_reports.rules.verdicts.health import Health, health
from gpubench_reports.rules.verdicts.judge import judge
from gpubench_reports.rules.verdicts.verdict import Verdict


@dataclass(frozen=True)
class Facts:
    """A result file, and all that is known of it."""

    result: ResultFile
    others: Sequence[ResultFile]
    verdicts: Mapping[str, Verdict]
    health: Health
    findings: Sequence[Finding]
    comparisons: Sequence[Comparison]
    means: speedups.Speedups | None  # over all files, where they are more than two


def gather(
    result: ResultFile, others: Sequence[ResultFile] = (), recorded: Sequence[Range] = ()
) -> Facts:
    """The facts about `result`, compared with `others`; `recorded` are ranges of its device.

    Raises ReportError when another file has no row in common with this one.
    """
    return Facts(
        result=result,
        others=others,
        verdicts=judge(result, recorded),
        health=health(result),
        findings=judge_claims(result),
        comparisons=[compare(other, result) for other in others],
        means=speedups.table([result, *others]) if len(others) > 1 else None,
    )
