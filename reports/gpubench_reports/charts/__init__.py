"""Pictures: one module per kind of chart, and what draws all that a file supports."""
