"""The chart of one concept."""
