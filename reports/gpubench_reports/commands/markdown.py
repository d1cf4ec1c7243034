"""gpubench-report markdown: a summary for a pull request."""

import argparse

from gpubench_reports.commands.arguments import one_and_others

NAME = "markdown"
SUMMARY = "print a summary for a pull request"
HELP = """\
Prints a summary in Markdown: health, the rows that are not as expected and why, the roofs, and a
paragraph per concept. With OTHERS, also prints how much faster or slower each concept is.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    one_and_others(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.compare import compare
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.pages.markdown_report import to_markdown
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.verdicts.judge import judge

    result = read(options.result)
    comparisons = [compare(read(path), result) for path in options.others]
    verdicts = judge(result, ranges_for(result, options.against))
    print(to_markdown(result, verdicts, comparisons), end="")
