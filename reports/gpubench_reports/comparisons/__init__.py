"""A result file beside something else: other files, other programs, a profiler, publications."""
