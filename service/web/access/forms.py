"""Read the fields of a form that a browser sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation

from service.domain.review.comment_commands import is_bug
from service.domain.values.errors import BadInput
from service.domain.values.text import brief

Form = Mapping[str, str]
_MOST_FIELDS: Final = 120  # a list has a box in each of its rows
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


def bug_in(form: Form) -> str:
    """Read the bug; empty without one. Raises BadInput for a text that names none."""
    bug = form.get("bug", "").strip()
    if bug and not is_bug(bug):
        raise BadInput(f"must be like MB-123, #123 or a URL, not {brief(bug)}", "bug")
    return bug
