"""What every other folder leans on: errors, files, units of numbers, running gpubench."""
