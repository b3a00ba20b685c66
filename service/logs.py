"""Logs: one JSON object per line, with an event and its values, so that no text can forge a line."""

from __future__ import annotations

import sys

import structlog


def log_as_json() -> None:
    """Configure the logs of this process; call it once at the start."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=_print_to_stderr,
    )


def _print_to_stderr(*_: object) -> structlog.PrintLogger:
    # The stream of this moment: a program that calls commands replaces and closes it.
    return structlog.PrintLogger(sys.stderr)
