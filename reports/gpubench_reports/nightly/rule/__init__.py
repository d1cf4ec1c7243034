"""The rule on arrays: its settings, what makes a regression, change points."""
