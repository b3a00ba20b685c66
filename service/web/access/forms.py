"""Read the fields of a form that a browser sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation

from service.domain.values.errors import BadInput

Form = Mapping[str, str]
_MOST_FIELDS: Final = 20
_TYPE: Final = "application/x-www-form-urlencoded"


async def form_of(request: Request) -> Form:
    """Read the fields of a form; the guard limits its size.

    Raises:
        BadInput: the body is no form, has too many fields, or has a field twice.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise BadInput(f"the request's body is not a form ({_TYPE})", "form")
    try:
        fields = parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:  # also a text that is not UTF-8
        raise BadInput(f"the form cannot be read; it has at most {_MOST_FIELDS} fields", "form") from None
    form = dict(fields)
    if len(form) != len(fields):
        raise BadInput("the form has a field twice", "form")
    return form
