"""gpubench-nightly status: what is open now."""

import argparse

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened, print_quarantined

NAME = "status"
SUMMARY = "what is open now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging.judging import judge_new, status
    from gpubench_reports.nightly.reporting.summary import lines

    store, index, settings = opened(options)
    with index:
        judge_new(store, index, settings)
        found = status(store, index, settings)
        for one in found:
            print("\n".join(lines(one, settings, store.rehearsal)))
        print_quarantined(store.quarantined())
    if not found:
        raise ReportError(options.store, "has no nights yet")
    codes = {one.exit_code for one in found}
    return 1 if 1 in codes else max(codes)
