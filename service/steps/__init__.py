"""The use cases, one a file: load, decide purely, store, act."""
