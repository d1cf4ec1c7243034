"""Damaged inputs for every reader of files, and what came of them."""
