"""Compare base and patch: from launches to one row for each benchmark and metric."""
