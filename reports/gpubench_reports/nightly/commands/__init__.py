"""The commands of gpubench-nightly, one per module, and the parser that knows them all."""
