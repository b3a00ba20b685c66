"""Commands for operators of a running service: reconcile, replay and report."""
