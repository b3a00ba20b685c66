"""Celery app, tasks and schedule. Each task carries only an ID."""
