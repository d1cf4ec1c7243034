"""A night: is the machine fit, measure, take in."""
