"""Checks the labs: predictions, then results, counters and time of a solution."""
