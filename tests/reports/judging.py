"""Verdicts of single rows."""

from gpubench_reports.rules.verdicts.judge import judge


def one(load, row, recorded=(), **context):
    result = load([row], **context)
    return judge(result, recorded)[row["name"]]
