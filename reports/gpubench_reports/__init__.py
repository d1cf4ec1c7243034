"""Reads gpubench result files and turns them into tables and charts."""

__version__ = "0.1.0"
