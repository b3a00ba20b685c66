from __future__ import annotations

import pytest

from service.domain.access.scopes import Scope, ScopeKind, parse_scope
from service.domain.errors import BadInput


@pytest.mark.parametrize("text", ["read", "operate", "report:kv/cv-perf", "report:platform/kv/cv-perf"])
def test_a_scope_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_scope(text)) == text


def test_a_project_may_have_slashes() -> None:
    assert parse_scope("report:platform/kv/cv-perf") == Scope(ScopeKind.REPORT, "platform/kv", "cv-perf")


@pytest.mark.parametrize(
    "text",
    ["", "write", "READ", "read:x", "report", "report:", "report:job", "report:/job", "report:p/", "x" * 999],
)
def test_anything_else_is_refused_with_the_allowed_forms(text: str) -> None:
    with pytest.raises(BadInput, match="a scope is read, operate or report:PROJECT/JOB"):
        parse_scope(text)
