"""Store comments and overrides of reviewers, how far a server was read, and which run follows which."""

from __future__ import annotations

from alembic import op

revision = "20261121_0500"
down_revision = "20261121_0400"
branch_labels = None
depends_on = None

_TABLES = """
CREATE TABLE server (
    instance      text PRIMARY KEY,
    first_contact timestamptz NOT NULL,  -- by the server's clock: what is older was not said to us
    seen_until    timestamptz NOT NULL   -- every change updated before is stored as a hint or as a change
);
CREATE TABLE heard (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    change_id    bigint NOT NULL REFERENCES change,
    patch_set_id bigint NOT NULL REFERENCES patch_set,
    account      text NOT NULL,
    person       text NOT NULL,
    written_at   timestamptz NOT NULL,
    digest       bytea NOT NULL,         -- of the text; ids of messages change with a rewritten history
    text         text NOT NULL,
    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done')),
    answer       text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (change_id, account, written_at, digest)
);
CREATE INDEX heard_pending ON heard (created_at) WHERE state = 'pending';
CREATE TABLE ruling (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    patch_set_id bigint NOT NULL REFERENCES patch_set,
    kind         text NOT NULL CHECK (kind IN ('override', 'accept', 'undo', 'trust', 'person vote')),
    builds       bigint[] NOT NULL DEFAULT '{}',
    pattern      text NOT NULL DEFAULT '',
    bug          text NOT NULL DEFAULT '',
    reason       text NOT NULL DEFAULT '',
    account      text NOT NULL,
    person       text NOT NULL,
    heard_id     bigint REFERENCES heard,
    made_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ruling_of_patch_set ON ruling (patch_set_id, id);
CREATE FUNCTION ruling_stays() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a ruling is taken back by another one, never changed';
END
$$;
CREATE TRIGGER ruling_stays BEFORE UPDATE OR DELETE ON ruling FOR EACH ROW EXECUTE FUNCTION ruling_stays();
CREATE TABLE replaced_build (
    run_id      bigint NOT NULL REFERENCES run,
    build_id    bigint NOT NULL REFERENCES build,
    position    integer NOT NULL,
    heard_id    bigint REFERENCES heard,
    replaced_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, build_id)
);
"""

# Constants as defaults rewrite nothing, and code that does not know the columns fills them so.
_COLUMNS = """
ALTER TABLE run ADD COLUMN previous_id bigint REFERENCES run;
ALTER TABLE run ADD COLUMN asked_by bigint REFERENCES heard;
ALTER TABLE run ADD COLUMN ended_by text NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN missing_since timestamptz;
CREATE INDEX build_of_sequence ON build (sequence_id, id);
CREATE INDEX run_of_revision ON run (revision) WHERE kind = 'check';
ALTER TABLE build ADD COLUMN url text NOT NULL DEFAULT '';
ALTER TABLE build ADD COLUMN external_number integer;
ALTER TABLE build ADD COLUMN blamed jsonb NOT NULL DEFAULT '[]';
"""


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_COLUMNS)


def downgrade() -> None:
    op.execute("ALTER TABLE build DROP COLUMN blamed, DROP COLUMN external_number, DROP COLUMN url")
    op.execute("DROP INDEX run_of_revision, build_of_sequence")
    op.execute("ALTER TABLE outbox DROP COLUMN missing_since")
    op.execute("ALTER TABLE run DROP COLUMN ended_by, DROP COLUMN asked_by, DROP COLUMN previous_id")
    op.execute("DROP TABLE replaced_build, ruling, heard, server")
    op.execute("DROP FUNCTION ruling_stays()")
