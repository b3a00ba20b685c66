"""The Celery app, its tasks and the schedule: ways in that carry only ids."""
