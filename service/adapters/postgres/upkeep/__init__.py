"""Queries for the scheduler: the outbox, stalled work and idle pools."""
