"""gpubench-nightly notify: tells where every machine stands, by a webhook."""

import argparse

from gpubench_reports.nightly.commands.arguments import (
    rehearsal_argument,
    store_arguments,
    webhook_argument,
)
from gpubench_reports.nightly.commands.shared import judged

NAME = "notify"
SUMMARY = "tell a chat what is open now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    webhook_argument(parser, "webhook")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.reporting.telling import standing_message

    store, settings, found = judged(options)
    message = standing_message(store, found, settings)
    options.webhook.post(message)
    print(f"told: {message.title}")
    return 0
