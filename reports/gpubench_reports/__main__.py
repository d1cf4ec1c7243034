"""`python -m gpubench_reports` is `gpubench-report`."""

import sys

from gpubench_reports.cli import main

sys.exit(main())
