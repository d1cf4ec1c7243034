"""One training step of a language model on many GPUs, simulated from the rows of a result file."""
