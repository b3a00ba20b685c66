"""Log one JSON object per line, with an event and its values, so that no text can forge a line."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from typing import TextIO


def log_as_json(file: TextIO | None = None) -> None:
    """Configure the logs of this process, to a file or to stderr; call it once at the start."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file) if file else _print_to_stderr,
    )
    # It logs each request's URL, and that of a chat's webhook is a secret.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _print_to_stderr(*_: object) -> structlog.PrintLogger:
    # The stream of this moment: a program that calls commands replaces and closes it.
    return structlog.PrintLogger(sys.stderr)
