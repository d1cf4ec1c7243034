"""The roofline of one result file."""
