"""Rules that are data (*.toml), and what applies them: verdicts, claims, goals, calibration."""
