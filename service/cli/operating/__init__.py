"""Commands for operators of a running service: reconcile, replay, report and token."""
