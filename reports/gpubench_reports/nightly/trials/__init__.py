"""Trials of the tracking itself: its false alerts by simulation, and how its time grows."""
