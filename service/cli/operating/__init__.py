"""Commands for operators of a running service: status, reconcile, replay and report."""
