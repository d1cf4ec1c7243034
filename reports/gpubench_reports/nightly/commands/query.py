"""gpubench-nightly query: answers a prepared question."""

import argparse

from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened

NAME = "query"
SUMMARY = "a prepared question"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("name", help="'list' names them")
    parser.add_argument(
        "--parquet",
        metavar="WHERE",
        help="a folder or s3:// address of exported Parquet, by DuckDB",
    )
    parser.add_argument(
        "--benchmark", default="%", metavar="PATTERN", help="SQL's LIKE: 'stream/%%'"
    )


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.reporting.queries import answer, names, over_index, over_parquet

    if options.name == "list":
        print("\n".join(names()))
        return 0
    if options.parquet is not None:
        table = over_parquet(options.parquet, options.name, options.benchmark)
    else:
        _, index, settings = opened(options)
        with index:
            index.update(settings)
            table = over_index(index, options.name, options.benchmark)
    print(answer(table))
    return 0
