"""The Celery app, its tasks and the schedule. Each task carries only an ID."""
