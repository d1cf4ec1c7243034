"""Verdicts in words: which wall binds a row, how far it is from what its pattern allows, why, and
what to change. The words and limits are data (verdicts.toml).
"""
