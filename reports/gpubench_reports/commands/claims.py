"""gpubench-report claims: what is often said of GPUs, tested."""

import argparse
import json
from pathlib import Path

from gpubench_reports.commands.arguments import json_or_markdown

NAME = "claims"
SUMMARY = "test common claims about GPUs"
HELP = """\
Tests common claims about GPUs, such as "padding is a free speed-up" or "a launch costs a few
microseconds". Prints for each claim the result from RESULT, the range in which the claim holds, and
a verdict: holds, does not hold, holds partly (and where), or was not tested. Claims that were not
tested come last, with the reason: a row is missing, was skipped, or needs another device. A
modelled file gives modelled verdicts.

The claims are in claims.toml of this package.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT.json", type=Path, nargs="+")
    json_or_markdown(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.claims import as_json, judge_claims

    found = [(result, judge_claims(result)) for result in map(read, options.results)]
    if options.json:
        print(json.dumps([as_json(*one) for one in found], indent=1, ensure_ascii=False))
        return
    if options.markdown:
        from gpubench_reports.pages.markdown_report import claims_to_markdown

        print("\n".join(claims_to_markdown(*one) for one in found), end="")
        return
    from gpubench_reports.pages.terminal.rules import print_claims

    for one in found:
        print_claims(*one)
