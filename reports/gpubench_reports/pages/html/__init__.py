"""One HTML page about a result file: facts, then charts, then sections, then the page."""
