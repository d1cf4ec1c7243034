"""gpubench-report goals: which goals a validated GPU meets."""

import argparse
import json
from pathlib import Path

from gpubench_reports.commands.arguments import json_or_markdown

NAME = "goals"
SUMMARY = "say which goals a validated GPU meets"
HELP = """\
Holds a folder that scripts/validate-gpu has filled against what gpubench wants to show on a GPU:
the goal, the figure, and whether it is met, missed or absent (and why).

The goals are goals.toml of this package; some are for one device only.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path)
    json_or_markdown(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.rules.goals import as_json, hold

    context, outcomes = hold(options.directory)
    if options.json:
        found = as_json(options.directory, context, outcomes)
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    if options.markdown:
        from gpubench_reports.pages.markdown_report import goals_to_markdown

        print(goals_to_markdown(context, outcomes), end="")
        return
    from gpubench_reports.pages.tables import print_goals

    print_goals(context, outcomes)
