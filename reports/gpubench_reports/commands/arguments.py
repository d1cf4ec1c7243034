"""Arguments that several commands have."""

import argparse
from pathlib import Path


def one_and_others(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument(
        "others", metavar="OTHER.json", type=Path, nargs="*", help="compare it with this file"
    )
    against(parser)


def result_or(parser: argparse.ArgumentParser, flag: str, what: str) -> None:
    """A result file, or `flag`, which prints what one has to be made with."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("result", metavar="RESULT.json", type=Path, nargs="?")
    either.add_argument(flag, action="store_true", help=what)


def json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for other programs")


def json_or_markdown(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for other programs")
    form.add_argument("--markdown", action="store_true", help="print Markdown")


def against(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--against",
        metavar="PLACE",
        type=Path,
        action="append",
        default=[],
        help="a folder or file with values recorded or published for this device; may be repeated",
    )
