"""Ways to rewrite the audit log: the verification finds each of them, before it is used and afterwards."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import ProgrammingError

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.store import PostgresStore
from service.domain.access.audit import AuditKind
from service.domain.values.errors import Permanent
from service.steps.access.verify_audit import verify_audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration

# The log as its script makes it, except for the role that owns it.
SCHEMA: Final = "CREATE SCHEMA audit"
TABLE: Final = (
    "CREATE TABLE audit.entry (id bigint PRIMARY KEY, at text NOT NULL, kind text NOT NULL,"
    " actor text NOT NULL, subject text NOT NULL, body text NOT NULL, previous bytea NOT NULL,"
    " hash bytea NOT NULL)"
)
FUNCTION: Final = (
    "CREATE FUNCTION public.mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
    " CREATE FUNCTION public.same(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'"
)
REMOVE_LAST: Final = (
    "ALTER TABLE audit.entry DISABLE TRIGGER refuse_changes",
    "DELETE FROM audit.entry WHERE id = (SELECT max(id) FROM audit.entry)",
    "ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes",
)
# The trigger of an owner who waits for a word, then takes the rights and opens the trigger of the log.
SESAME: Final = """
CREATE OR REPLACE FUNCTION public.mine() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.subject = 'open sesame' THEN
        GRANT SELECT, DELETE ON audit.entry TO benchgate;
        CREATE OR REPLACE FUNCTION audit.refuse() RETURNS trigger
            LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END';
    END IF;
    RETURN NEW;
END $$
"""


class Site:
    """A database, used with the role that owns it."""

    def __init__(self, database: Database, url: str) -> None:
        self.database = database
        self.url = url
        self.engine = make_engine(url)

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    def append(self, *subjects: str) -> None:
        with PostgresStore(self.engine).transaction() as tx:
            for subject in subjects:
                tx.audit.record_act(AuditKind.OVERRIDE, "ann", subject, {})

    def count(self) -> int:
        return len(PostgresAuditLog(self.engine).entries(0, 9))

    def verified(self) -> tuple[bool, list[str]]:
        """The result of a verification, and its sentences about the protection."""
        found = verify_audit(PostgresAuditLog(self.engine))
        assert found.chain.fault is None, "the entries that are left form a chain"
        return found.is_passed, [fault.sentence for fault in found.protection_faults]

    def remedies(self) -> list[str]:
        return [fault.remedy for fault in PostgresAuditLog(self.engine).protection_faults()]


@contextmanager
def owned_by_chief(server: Server, attribute: str) -> Iterator[Site]:
    """A database of a role with an attribute, on a server without a role for logs."""
    with server.database(migrated=False) as database:
        url = make_url(database.owner_url).set(username="chief", password="chief")
        database.administer(
            "DROP SCHEMA audit CASCADE",
            "ALTER ROLE benchgate_audit RENAME TO aside",  # the other databases of the server go on using it
            f"CREATE ROLE chief LOGIN PASSWORD 'chief' {attribute}",
            f"ALTER DATABASE {url.database} OWNER TO chief",
        )
        site = Site(database, url.render_as_string(hide_password=False))
        try:
            yield site
        finally:
            site.engine.dispose()
            database.administer(
                "DROP SCHEMA IF EXISTS audit CASCADE",
                "DROP ROLE IF EXISTS benchgate_audit",
                "ALTER ROLE aside RENAME TO benchgate_audit",
                f"ALTER DATABASE {url.database} OWNER TO benchgate",
                "REASSIGN OWNED BY chief TO benchgate",
                "DROP OWNED BY chief",
                "DROP ROLE chief",
            )


@contextmanager
def before_the_log(server: Server) -> Iterator[Site]:
    """A database; its owner has no attribute, and acts before an administrator creates the log."""
    with server.database(migrated=False) as database:
        database.administer("DROP SCHEMA audit CASCADE")
        site = Site(database, database.owner_url)
        try:
            yield site
        finally:
            site.engine.dispose()


def test_an_owner_who_is_a_superuser(server: Server) -> None:
    with owned_by_chief(server, "SUPERUSER") as site:
        migrate(site.url)
        site.append("review~1/1", "review~2/1")
        lost = (False, ["chief, the owner of the database, is a superuser"])
        assert site.verified() == lost
        site.run(*REMOVE_LAST)
        assert site.count() == 1
        assert site.verified() == lost


def test_an_owner_who_may_create_roles_and_created_that_of_the_log(server: Server) -> None:
    with owned_by_chief(server, "CREATEROLE") as site:
        migrate(site.url)
        site.append("review~1/1", "review~2/1")
        lost = (
            False,
            [
                "chief, the owner of the database, may create roles",
                "chief, the owner of the database, may make itself a member of benchgate_audit",
            ],
        )
        assert site.verified() == lost
        with pytest.raises(ProgrammingError, match="permission denied"):
            site.run("DELETE FROM audit.entry")
        site.run(
            "GRANT benchgate_audit TO chief WITH SET TRUE",
            "SET LOCAL ROLE benchgate_audit",
            *REMOVE_LAST,
            "RESET ROLE",
            "REVOKE benchgate_audit FROM chief GRANTED BY chief",
        )
        assert site.count() == 1
        assert site.verified() == lost
        for remedy in site.remedies():
            site.database.administer(remedy)
        assert site.verified() == (True, [])


def test_an_owners_trigger_that_runs_with_the_logs_rights(database: Database) -> None:
    site = Site(database, database.owner_url)
    site.run(FUNCTION)
    database.administer(
        "CREATE TRIGGER mine AFTER INSERT ON audit.entry FOR EACH ROW EXECUTE FUNCTION public.mine()"
    )
    site.append("review~1/1", "review~2/1")
    assert site.verified() == (False, ["audit.entry has the trigger mine"])
    site.run(SESAME, "SELECT audit.append('override', 'eve', 'open sesame', '{}')")
    assert "the function audit.refuse is not that of this version" in site.verified()[1]
    site.run("DELETE FROM audit.entry WHERE id >= 2")
    assert site.count() == 1
    assert not site.verified()[0]
    site.engine.dispose()


def test_a_log_that_waited_for_the_administrator_with_a_trigger_is_refused(server: Server) -> None:
    with before_the_log(server) as site:
        site.run(
            SCHEMA,
            TABLE,
            FUNCTION,
            SESAME,
            "CREATE TRIGGER mine AFTER INSERT ON audit.entry FOR EACH ROW EXECUTE FUNCTION public.mine()",
        )
        with pytest.raises(Permanent) as refused:
            migrate(site.url, site.database.administrator_url)
        assert str(refused.value) == (
            "the audit log is not one that Benchgate made: audit.entry has the trigger mine; find out who "
            "made this object, and let an administrator drop it; or begin a new log: ALTER SCHEMA audit "
            "RENAME TO audit_before, then benchgate migrate --administrator-url-from VARIABLE"
        )
        assert "audit.entry belongs to benchgate, not to benchgate_audit" in site.verified()[1]
        site.run("ALTER SCHEMA audit RENAME TO audit_before")
        migrate(site.url, site.database.administrator_url)
        assert site.verified() == (True, [])


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        (
            [TABLE, "CREATE RULE mine AS ON INSERT TO audit.entry DO ALSO SELECT 1"],
            "audit.entry has the rule mine",
        ),
        ([TABLE, "CREATE POLICY mine ON audit.entry"], "audit.entry has the policy mine"),
        ([TABLE, "ALTER TABLE audit.entry ENABLE ROW LEVEL SECURITY"], "audit.entry has row security"),
        (
            [TABLE, "ALTER TABLE audit.entry ALTER body SET DEFAULT public.same('')"],
            "the column body of audit.entry is not the declared one",
        ),
        (
            [TABLE, "ALTER TABLE audit.entry ADD x text GENERATED ALWAYS AS (public.same(body)) STORED"],
            "the column x of audit.entry is not the declared one",
        ),
        (
            [TABLE, "ALTER TABLE audit.entry DROP body"],
            "the column body of audit.entry is not the declared one",
        ),
        (
            [
                TABLE,
                "CREATE DOMAIN public.checked AS text CHECK (public.same(VALUE) IS NOT NULL)",
                "ALTER TABLE audit.entry ALTER body TYPE public.checked",
            ],
            "the column body of audit.entry is not the declared one",
        ),
        (
            [TABLE, "ALTER TABLE audit.entry ADD CONSTRAINT mine CHECK (public.same(body) IS NOT NULL)"],
            "audit.entry has the constraint mine",
        ),
        (
            [TABLE, "CREATE TABLE public.mine (id bigint REFERENCES audit.entry ON DELETE CASCADE)"],
            "public.mine refers to audit.entry",
        ),
        (
            [TABLE, "CREATE INDEX mine ON audit.entry (public.same(body))"],
            "audit.entry has the index mine",
        ),
        (
            [TABLE, "CREATE INDEX entry_kind ON audit.entry (kind) WHERE public.same(body) = ''"],
            "audit.entry has the index entry_kind",
        ),
        (
            [TABLE, "CREATE STATISTICS mine ON public.same(body), kind FROM audit.entry"],
            "audit.entry has the statistics mine",
        ),
        (
            [
                TABLE,
                "CREATE TABLE public.mine (LIKE audit.entry)",
                "ALTER TABLE audit.entry INHERIT public.mine",
            ],
            "audit.entry inherits from public.mine",
        ),
        (
            [TABLE, "CREATE TABLE public.mine () INHERITS (audit.entry)"],
            "public.mine inherits from audit.entry",
        ),
        ([TABLE, "ALTER TABLE audit.entry SET UNLOGGED"], "audit.entry is not an ordinary table"),
        (["CREATE VIEW audit.entry AS SELECT 1 AS id"], "audit.entry is not an ordinary table"),
        (["CREATE TABLE audit.other (id bigint)"], "the schema audit has the relation other"),
        (
            ["CREATE FUNCTION audit.append(text, text, text, text) RETURNS int LANGUAGE sql AS 'SELECT 1'"],
            "the schema audit has the function audit.append(text,text,text,text)",
        ),
    ],
)
def test_no_log_with_an_object_of_the_owner_is_adopted(
    server: Server, statements: list[str], sentence: str
) -> None:
    with before_the_log(server) as site:
        site.run(SCHEMA, FUNCTION, *statements)
        with pytest.raises(Permanent) as refused:
            protect_audit(site.database.administrator_url)
        assert str(refused.value).startswith("the audit log is not one that Benchgate made: ")
        assert f"{sentence}; " in str(refused.value)
        assert sentence in [fault.sentence for fault in PostgresAuditLog(site.engine).protection_faults()]


def test_the_administrator_calls_no_function_of_the_owner(server: Server) -> None:
    """The owner makes functions with PostgreSQL's names, and sets the search path of the database."""
    with before_the_log(server) as site:
        name = make_url(site.url).database
        trap = "LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE benchgate SUPERUSER; RETURN NULL; END $$"
        site.run(
            f"CREATE FUNCTION public.to_regrole(text) RETURNS regrole {trap}",
            f"CREATE FUNCTION public.to_regnamespace(text) RETURNS regnamespace {trap}",
            f"CREATE FUNCTION public.pg_has_role(name, text, text) RETURNS boolean {trap}",
            "CREATE VIEW public.pg_trigger AS SELECT * FROM pg_catalog.pg_trigger WHERE tgname <> 'mine'",
            f"ALTER DATABASE {name} SET search_path = public, pg_catalog",
        )
        site.engine.dispose()
        protect_audit(site.database.administrator_url)
        assert site.verified() == (True, [])
        site.run(FUNCTION)
        site.database.administer(
            "CREATE TRIGGER mine AFTER INSERT ON audit.entry FOR EACH ROW EXECUTE FUNCTION public.mine()"
        )
        assert site.verified() == (False, ["audit.entry has the trigger mine"])


def test_the_administrator_calls_no_operator_of_the_owner(server: Server) -> None:
    """An operator for exactly the types of a query wins over PostgreSQL's, wherever it is in the search path.

    A sequence counts the administrator's calls, because no rollback undoes that.
    """
    with before_the_log(server) as site:
        site.run(
            "CREATE SEQUENCE public.calls",
            "CREATE FUNCTION public.evil(oid, regtype) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
            " IF current_user <> 'benchgate' THEN PERFORM nextval('public.calls'); END IF;"
            " RETURN false; END $$",
            "CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = regtype, FUNCTION = public.evil)",
        )
        protect_audit(site.database.administrator_url)
        assert site.database.value("SELECT is_called FROM public.calls") is False
        assert site.verified() == (True, [])


def test_the_owner_by_another_role(database: Database) -> None:
    """A role that the services may log in as, or one that the owner can turn into."""
    log = PostgresAuditLog(database.owner)
    database.administer(
        "CREATE ROLE service LOGIN CREATEROLE IN ROLE benchgate", "CREATE ROLE staff CREATEROLE"
    )
    try:
        assert [(fault.sentence, fault.remedy) for fault in log.protection_faults()] == [
            (
                "service, which may act as the owner of the database, may create roles",
                "REVOKE benchgate FROM service",
            )
        ]
        database.administer("REVOKE benchgate FROM service", "GRANT staff TO benchgate")
        [fault] = log.protection_faults()
        assert (fault.sentence, fault.remedy) == (
            "benchgate, the owner of the database, may act as staff, which may create roles",
            "REVOKE staff FROM benchgate",
        )
        database.administer(fault.remedy)
        assert list(log.protection_faults()) == []
    finally:
        database.administer("DROP ROLE service", "DROP ROLE staff")


def test_a_superuser_that_benchgate_logs_in_as(database: Database) -> None:
    engine = make_engine(database.administrator_url)
    [fault] = PostgresAuditLog(engine).protection_faults()
    engine.dispose()
    assert (fault.sentence, fault.remedy) == (
        "postgres, which Benchgate logs in as, is a superuser",
        "let BENCHGATE_DATABASE_URL name the owner of the database",
    )


def test_a_machine_cannot_delay_the_protection(database: Database) -> None:
    """It may take any advisory lock."""
    database.administer("ALTER TABLE audit.entry OWNER TO benchgate")
    with database.machine.connect() as machine:
        machine.execute(text("SELECT pg_advisory_lock(hashtextextended('benchgate audit', 0))"))
        protect_audit(database.administrator_url)
    assert list(PostgresAuditLog(database.owner).protection_faults()) == []
