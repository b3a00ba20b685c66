"""Send hints to Celery workers."""
