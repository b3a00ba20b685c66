"""Bug trackers."""
