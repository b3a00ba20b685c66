"""Talk to bug trackers."""
