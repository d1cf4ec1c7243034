"""What is wrong with a device, from all rows of a file at once: the cause that fits them best."""
