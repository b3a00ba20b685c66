"""Migrations expand now and contract a release later: the version before goes on beside the new schema."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory

from service.adapters.postgres.migrate import NEWEST, configured

if TYPE_CHECKING:
    from alembic.script import Script

# The commit of the version before, and its newest migration.
PREVIOUS: Final = Path(__file__).parents[2] / "e2e" / "previous_version"
_BODY: Final = re.compile(r"(\$\w*\$).*?\1", re.DOTALL)
_COMMENT: Final = re.compile(r"--[^\n]*")
_BETWEEN_ACTIONS: Final = re.compile(r",(?![^()]*\))")
_KINDS: Final = "(?:TABLE|VIEW|FUNCTION|TYPE|SEQUENCE|SCHEMA)"
_MADE: Final = re.compile(rf"CREATE (?:OR REPLACE )?{_KINDS} ([\w.]+)")
# The version before reads, writes and calls what was there. A group is the name of a thing that may be new.
_BREAKS: Final = {
    "drops what it uses": rf"DROP (?:{_KINDS}|COLUMN|DEFAULT)(?: IF EXISTS)? ?([\w.]*)",
    "renames what it uses": "RENAME ()",
    "changes a type": r"ALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE ()",
    "asks for a value that it does not write": r"SET NOT NULL()"
    r"|ADD COLUMN (?!.*(?:DEFAULT|GENERATED)).*NOT NULL()",
    "refuses what it writes": r"ADD (?:CONSTRAINT|CHECK|UNIQUE|PRIMARY KEY|FOREIGN KEY)()"
    r"|CREATE UNIQUE INDEX \w+ ON ([\w.]+)",
    "takes a right": r"REVOKE .* ON (?:FUNCTION |TABLE )?([\w.]+)",
}


def sql_of(revision: Script) -> str:
    """The SQL with which a migration upgrades."""
    out = io.StringIO()
    options = {"as_sql": True, "output_buffer": out}
    with Operations.context(MigrationContext.configure(dialect_name="postgresql", opts=options)):
        revision.module.upgrade()
    return out.getvalue()


def breaks(sql: str) -> list[str]:
    """List what the version before would notice of these statements, apart from things that they make."""
    plain = " ".join(_COMMENT.sub("", _BODY.sub("''", sql)).split())
    made = set(_MADE.findall(plain))
    actions = [action for statement in plain.split(";") for action in _BETWEEN_ACTIONS.split(statement)]
    return [
        f"{what}: {found[0]}"
        for action in actions
        for what, pattern in _BREAKS.items()
        for found in re.finditer(rf"\b(?:{pattern})", action)
        if made.isdisjoint(found.groups())
    ]


def test_migrations_after_the_version_before_work_beside_it_or_say_why_not() -> None:
    previous = PREVIOUS.read_text(encoding="utf-8").split()[1]
    scripts = ScriptDirectory.from_config(configured("postgresql://nobody@localhost/nothing"))
    new = [
        each
        for each in scripts.iterate_revisions(NEWEST, previous)
        if not getattr(each.module, "needs_stop", "")
    ]
    assert {each.revision: found for each in new if (found := _unexplained(each))} == {}


def _unexplained(revision: Script) -> list[str]:
    """List what breaks, apart from what the migration names with a reason."""
    harmless = getattr(revision.module, "harmless", ())
    return [found for found in breaks(sql_of(revision)) if not any(name in found for name in harmless)]


@pytest.mark.parametrize(
    ("sql", "noticed"),
    [
        ("ALTER TABLE build DROP COLUMN log", "drops what it uses"),
        ("DROP FUNCTION machine.see(text, text)", "drops what it uses"),
        ("ALTER TABLE build\n    RENAME COLUMN log TO text", "renames what it uses"),
        ("ALTER TABLE build ALTER COLUMN log TYPE bytea", "changes a type"),
        ("ALTER TABLE build ALTER COLUMN log SET NOT NULL", "asks for a value that it does not write"),
        (
            "ALTER TABLE build ADD COLUMN a numeric(3, 1) NOT NULL DEFAULT 0, ADD COLUMN b text NOT NULL",
            "asks for a value that it does not write",
        ),
        ("ALTER TABLE build ADD CHECK (number > 0)", "refuses what it writes"),
        ("CREATE UNIQUE INDEX one ON build (job)", "refuses what it writes"),
        ("REVOKE ALL ON FUNCTION machine.see(text, text) FROM benchgate_machine", "takes a right"),
    ],
)
def test_what_the_version_before_would_notice_is_found(sql: str, noticed: str) -> None:
    [found] = breaks(sql)
    assert found.startswith(f"{noticed}: ")


def test_additions_are_left_alone() -> None:
    sql = """
    CREATE TABLE closure (id bigint PRIMARY KEY, host text NOT NULL CHECK (host <> ''));
    CREATE UNIQUE INDEX closure_of_host ON closure (host); -- later: DROP TABLE build
    ALTER TABLE build ADD COLUMN turn timestamptz NOT NULL DEFAULT now(), ADD COLUMN usual double precision;
    ALTER TABLE series ADD COLUMN kin bytea NOT NULL GENERATED ALWAYS AS (kin_of(instance, job)) STORED;
    CREATE FUNCTION machine.shut() RETURNS void LANGUAGE sql AS $$ DROP TABLE build; $$;
    REVOKE ALL ON FUNCTION machine.shut() FROM PUBLIC;
    DROP INDEX build_queue;
    """
    assert breaks(sql) == []
