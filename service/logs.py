"""Logs as one JSON object a line: events with their facts, never text that could forge another line."""

from __future__ import annotations

import sys

import structlog


def log_as_json() -> None:
    """Configure this process; called once by whoever starts it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
