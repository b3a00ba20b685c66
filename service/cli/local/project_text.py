"""Read a project file that a person names on the command line."""

from __future__ import annotations

import click

from service.domain.project.project_file import MAX_BYTES
from service.domain.values.errors import BadInput


def read_project_text(file: str) -> tuple[str, str]:
    """Read a project file, or stdin for ``-``; return its text and its name in errors.

    Raises:
        BadInput: it cannot be read, or is not UTF-8.
    """
    name = "<stdin>" if file == "-" else file
    try:
        with click.open_file(file, "rb") as stream:
            # One byte more than allowed is enough to refuse it.
            content: bytes = stream.read(4 * MAX_BYTES + 1)
        return content.decode(), name
    except OSError as error:
        raise BadInput(error.strerror or str(error), name) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput("not UTF-8 text", f"{name}:{line}") from None
