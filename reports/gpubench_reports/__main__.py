"""`python -m gpubench_reports` is `gpubench-report`."""

import sys

from gpubench_reports.commands.command_line import main

sys.exit(main())
