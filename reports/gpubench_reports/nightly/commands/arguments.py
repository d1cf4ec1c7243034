"""Arguments that several commands have."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench_reports.common.dates import day_of

if TYPE_CHECKING:
    from gpubench_reports.nightly.reporting.webhooks import Webhook


def default_store() -> Path:
    return Path(os.environ.get("GPUBENCH_STORE", "results/local/nightly"))


def program_arguments(parser: argparse.ArgumentParser, default: Path | None) -> None:
    if default is not None:
        parser.add_argument("--program", type=Path, default=default, metavar="GPUBENCH")
    parser.add_argument("--device", default="cuda", help="default: %(default)s")
    parser.add_argument("--suite", choices=("quick", "default", "full"))
    parser.add_argument("--mode", choices=("cold", "hot"))
    parser.add_argument("--filter", metavar="REGEX", help="of row names")
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="FLAG",
        help="a further flag for gpubench: --extra=--benchmark_min_time=0.1",
    )


def _folder(text: str) -> Path:
    """The folder of a store. An empty name would be the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("names no folder")
    return Path(text)


def store_arguments(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    parser.add_argument(
        "--store",
        metavar="DIR",
        type=_folder,
        default=default_store(),
        help=f"{purpose}default: $GPUBENCH_STORE, or %(default)s",
    )


def rehearsal_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rehearsal",
        action="store_true",
        help="modelled nights, in a store of their own, marked everywhere",
    )


def decision_arguments(parser: argparse.ArgumentParser) -> None:
    """What is decided on, where, and why."""
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("pattern", help="of names, as the shell has them: 'stream/*'")
    parser.add_argument(
        "--machine",
        metavar="NAME",
        help="needed if the pattern matches on several machines; '*' for all of them",
    )
    parser.add_argument(
        "--mode",
        dest="mode_of_series",  # `mode` is a setting, of nights to measure
        choices=("cold", "hot", "*"),
        help="needed if the pattern matches cold and hot series; '*' for both",
    )
    parser.add_argument("--reason", required=True)


def _webhook(text: str) -> "Webhook":
    from gpubench_reports.nightly.reporting.webhooks import Webhook

    try:
        return Webhook.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _url(text: str) -> str:
    from gpubench_reports.nightly.reporting.posting import is_url

    if not is_url(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no address like http://host:9091")
    return text


def webhook_argument(parser: argparse.ArgumentParser, name: str, **more: Any) -> None:
    parser.add_argument(
        name,
        type=_webhook,
        metavar="KIND:URL",
        **more,
        help="slack, teams or json; :@FILE holds it",
    )


def told_arguments(parser: argparse.ArgumentParser) -> None:
    """Who is told of a night."""
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="also write the verdict as JUnit XML"
    )
    parser.add_argument(
        "--openmetrics", type=Path, metavar="FILE", help="also write the latest values"
    )
    parser.add_argument(
        "--pushgateway", type=_url, metavar="URL", help="also push the latest values there"
    )
    webhook_argument(parser, "--webhook", action="append", default=[])
    parser.add_argument(
        "--webhook-always", action="store_true", help="also tell of nights with nothing open"
    )


def gate_arguments(parser: argparse.ArgumentParser) -> None:
    program_arguments(parser, None)
    parser.add_argument("--rounds", type=int, metavar="N", help="processes of each program (10)")
    parser.add_argument(
        "--floor", type=float, metavar="FRACTION", help="smaller changes do not count (0.02)"
    )
    store_arguments(parser, "whose settings.toml holds, if any; ")
    parser.add_argument("--seed", type=seed, default=1, help="of the bootstrap")
    parser.add_argument("--rehearsal", action="store_true", help="compare modelled runs")


def day(text: str) -> str:
    if found := day_of(text):
        return found
    raise argparse.ArgumentTypeError(f"'{text}' is no day like 2026-12-31")


def seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:  # nor NaN
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 to below 1")
    return value


def positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)
