"""The commands of gpubench-report, one per module, and the parser that knows them all."""
