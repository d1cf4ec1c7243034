"""gpubench-report diagnose: which wall holds up a training step."""

import argparse
import dataclasses
from pathlib import Path

NAME = "diagnose"
SUMMARY = "say which wall holds up a training step, and what to change"
HELP = """\
Asks four questions about each training step in RESULT: is its time stable, is the GPU busy, is the
busy time spent in products, and are products near their roof? Names the wall, the evidence, the
switch to try, and what it should gain. Then prints a table "what if": how many times as fast a step
is with each switch, on the device of RESULT and on those of the other files.

RESULT must have rows of the concept training_step. The default suite has some of them, and
--suite=full all.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument(
        "others", metavar="OTHER.json", type=Path, nargs="*", help="other devices, for the table"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result, *others = map(read, (options.result, *options.others))
    if options.json:
        from gpubench_reports.common.json_text import json_text
        from gpubench_reports.rules.steps import diagnose_steps

        context = result.context
        run = {
            "device": context.device,
            "modelled": context.modelled,
            "reservations": context.reservations,
        }
        print(json_text([run | dataclasses.asdict(one) for one in diagnose_steps(result)]))
        return
    from gpubench_reports.pages.terminal.steps import print_steps

    print_steps(result, others)
