"""`python -m gpubench_reports.nightly`: what scripts/nightly runs."""

import sys

from gpubench_reports.nightly.commands.command_line import main

if __name__ == "__main__":
    sys.exit(main())
