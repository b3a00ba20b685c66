from __future__ import annotations

import pytest

from service.domain.access.caller import TokenHolder
from service.domain.access.needs import Need, refusal
from service.domain.access.scopes import (
    ScopeKind,
    TokenScope,
    cover_machine,
    cover_report,
    parse_scope,
    stored_scope,
)
from service.domain.values.errors import BadInput


@pytest.mark.parametrize(
    "text", ["read", "operate", "report:kv/cv-perf", "report:platform/kv/cv-perf", "machine:perf-01/lint/2"]
)
def test_a_scope_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_scope(text)) == text


def test_a_project_may_have_slashes() -> None:
    assert parse_scope("report:platform/kv/cv-perf") == TokenScope(ScopeKind.REPORT, "platform/kv", "cv-perf")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "write",
        "READ",
        "read:x",
        "report",
        "report:",
        "report:job",
        "report:/job",
        "report:p/",
        "machine",
        "machine:",
        "machine:a\nb",
        "machine:" + "x" * 999,
        "x" * 999,
    ],
)
def test_anything_else_is_refused_with_the_allowed_forms(text: str) -> None:
    with pytest.raises(BadInput, match="a scope is read, operate, report:PROJECT/JOB or machine:NAME"):
        parse_scope(text)


@pytest.mark.parametrize(
    "text", ["report:kv/a\nb", "report:k\x00v/job", "report:kv/\u202ejob", "report:\ud800/j"]
)
def test_a_name_with_a_control_character_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="a scope is read, operate, report:PROJECT/JOB or machine:NAME"):
        parse_scope(text)


@pytest.mark.parametrize(
    ("scope", "project", "job"),
    [
        ("report:kv/linux", "kv", "linux"),
        ("report:platform/kv/linux", "platform/kv", "linux"),
        ("report:core~kv/linux", "kv", "linux"),
    ],
)
def test_a_report_is_covered_by_the_scope_of_its_project_and_job(scope: str, project: str, job: str) -> None:
    assert cover_report({parse_scope("read"), parse_scope(scope)}, "core", project, job)


@pytest.mark.parametrize(
    ("scope", "project", "job"),
    [
        ("report:kv/linux", "kv", "macos"),
        ("report:kv/linux", "kv2", "linux"),
        ("report:kv/linux", "KV", "linux"),
        # The last slash ends the project: no part of a name may move over it.
        ("report:platform/kv/linux", "platform", "kv/linux"),
        ("report:platform/kv/linux", "kv", "linux"),
        ("report:*/linux", "kv", "linux"),
        ("report:other~kv/linux", "kv", "linux"),
        ("report:core~kv/linux", "core~kv", "linux"),
        ("read", "", ""),
        ("operate", "", ""),
    ],
)
def test_a_report_is_not_covered_by_any_other_scope(scope: str, project: str, job: str) -> None:
    assert not cover_report({parse_scope("read"), parse_scope(scope)}, "core", project, job)


@pytest.mark.parametrize(
    ("scope", "name", "is_covered"),
    [
        ("machine:perf-01", "perf-01", True),
        ("machine:perf-01", "perf-01/lint/2", True),
        ("machine:perf-01", "perf-011", False),
        ("machine:perf-01/lint", "perf-01", False),
        ("machine:perf-01", "", False),
        ("operate", "perf-01", False),
        ("report:perf-01/x", "perf-01/x", False),
    ],
)
def test_the_scope_of_a_host_covers_its_machines_and_no_others(
    scope: str, name: str, *, is_covered: bool
) -> None:
    assert cover_machine({parse_scope(scope)}, name) is is_covered


def test_a_stored_scope_of_a_later_version_is_shown_and_grants_nothing() -> None:
    scope = stored_scope("fleet:perf/7")
    assert str(scope) == "fleet:perf/7"
    assert not cover_machine([scope], "perf/7")
    assert not cover_report([scope], "gerrit", "fleet:perf", "7")
    holder = TokenHolder(token_id=1, name="later", scopes=frozenset({scope}))
    assert all(refusal(holder, need, is_public=False) for need in Need if need is not Need.NOTHING)
    assert stored_scope("machine:perf-01") == parse_scope("machine:perf-01")
