"""gpubench-report goals: which goals a validated GPU meets."""

import argparse
import json
from pathlib import Path

from gpubench_reports.commands.arguments import json_or_markdown

NAME = "goals"
SUMMARY = "say which goals a validated GPU meets"
HELP = """\
Judges a folder that scripts/validate-gpu has filled by gpubench's goals. Prints for each goal the
result, and whether the goal is met, missed, or could not be judged (and why).

The goals are in goals.toml of this package. Some apply to one device only.
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
    from gpubench_reports.pages.terminal.rules import print_goals

    print_goals(context, outcomes)
