"""`python -m gpubench_reports.nightly`: what scripts/nightly runs."""

import sys

from gpubench_reports.common.console import run_guarded
from gpubench_reports.nightly.commands.shared import PROGRAM


def main() -> int:
    """Imports under guard: where it cannot, Python ends with 1, which means a regression."""

    def call() -> int:
        from gpubench_reports.nightly.commands import command_line

        return command_line.main()

    return run_guarded(PROGRAM, call, line_buffering=True)


if __name__ == "__main__":
    sys.exit(main())
