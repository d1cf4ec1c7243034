"""The folder of immutable files that is the truth, and the index that is rebuilt from it."""
