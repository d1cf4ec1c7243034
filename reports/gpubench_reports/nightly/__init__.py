"""Nightly regression tracking: runs, stores, judges, reports. `scripts/nightly` is its command."""
