"""gpubench-report gallery: the pages' pictures."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import print_paths

NAME = "gallery"
SUMMARY = "draw the pictures of the pages"
HELP = """\
Draws the pictures listed in DIR/pictures.toml from the result files next to it. With --program,
first makes those files again, with the command lines in the list.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        nargs="?",
        default=Path("reports/gallery"),
        help="(default: %(default)s)",
    )
    parser.add_argument(
        "--program", metavar="GPUBENCH", type=Path, help="run this for new result files first"
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.charts import gallery

    sources, pictures = gallery.read_list(options.directory)
    if options.program:
        print_paths(gallery.run_model(options.directory, sources, options.program))
    print_paths(gallery.draw(options.directory, pictures))
