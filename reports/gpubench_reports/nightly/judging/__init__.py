"""Nights to verdicts, and what is open after them and after people's decisions."""
