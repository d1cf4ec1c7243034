"""gpubench-report gallery: the README's pictures."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import print_paths

NAME = "gallery"
SUMMARY = "draw the pictures of the README"
HELP = """\
Draws the pictures that DIR/pictures.toml lists from the result files beside them. With --program
the files are made anew first, by the command lines that the list holds.
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
