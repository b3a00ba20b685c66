"""Plan a run, finish its builds, decide it and cast its vote."""
