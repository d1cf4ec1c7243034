"""gpubench-nightly status: what is open now."""

import argparse

from gpubench_reports.common.json_text import json_text
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import judged, print_quarantined

NAME = "status"
SUMMARY = "what is open now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.reporting.status_document import overall, status_document
    from gpubench_reports.nightly.reporting.summary import lines

    store, settings, found = judged(options)
    if options.json:
        print(json_text(status_document(store, found)))
    else:
        for one in found:
            print("\n".join(lines(one, settings, store.rehearsal)))
        print_quarantined(store.quarantined())
    return overall(found)
