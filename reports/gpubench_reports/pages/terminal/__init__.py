"""What the commands print in a terminal."""
