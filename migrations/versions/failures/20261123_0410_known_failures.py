"""Store the failures of builds with their signatures, and the failures that people know.

A service of the previous version stores none, so its builds are excused by nothing.
"""

from __future__ import annotations

from alembic import op

revision = "20261123_0410"
down_revision = "20261123_0400"
branch_labels = None
depends_on = None

_FAILURES = """
CREATE TABLE signature (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest        bytea NOT NULL UNIQUE,
    kind          text NOT NULL,
    subject       text NOT NULL,
    text          text NOT NULL,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX signature_recent ON signature (last_seen_at);

CREATE TABLE failure (
    build_id     bigint NOT NULL REFERENCES build,
    position     integer NOT NULL,
    signature_id bigint NOT NULL REFERENCES signature,
    headline     text NOT NULL,
    line         text NOT NULL DEFAULT '',
    place        text NOT NULL DEFAULT '',
    PRIMARY KEY (build_id, position)
);
CREATE INDEX failure_of_signature ON failure (signature_id, build_id);
ALTER TABLE build ADD COLUMN failures_cut boolean NOT NULL DEFAULT false;
-- Rates count the builds of a job in the last days.
CREATE INDEX build_of_job_finished ON build (job, finished_at) WHERE state = 'finished';
"""
# An empty branch, job or host stands for any.
_KNOWN_FAILURES = """
CREATE TABLE known_failure (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    signature_id bigint REFERENCES signature,
    pattern      text NOT NULL DEFAULT '',
    instance     text NOT NULL,
    project      text NOT NULL,
    branch       text NOT NULL DEFAULT '',
    job          text NOT NULL DEFAULT '',
    host         text NOT NULL DEFAULT '',
    bug          text NOT NULL DEFAULT '',
    reason       text NOT NULL DEFAULT '',
    owner        text NOT NULL DEFAULT '',
    assignee     text NOT NULL DEFAULT '',
    state        text NOT NULL CHECK (
        state IN ('untriaged', 'confirmed', 'infrastructure', 'invalid', 'fixed')
    ),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    CHECK ((signature_id IS NULL) <> (pattern = ''))
);
CREATE UNIQUE INDEX known_failure_one ON known_failure
    (instance, project, branch, job, host, coalesce(signature_id, 0), md5(pattern))
    WHERE state <> 'invalid';
CREATE INDEX known_failure_of_signature ON known_failure (signature_id);

CREATE TABLE known_match (
    run_id     bigint NOT NULL REFERENCES run,
    build_id   bigint NOT NULL REFERENCES build,
    position   integer NOT NULL,
    known_id   bigint NOT NULL REFERENCES known_failure,
    matched_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, build_id, position)
);
CREATE INDEX known_match_of_known ON known_match (known_id, build_id);
"""


def upgrade() -> None:
    op.execute(_FAILURES)
    op.execute(_KNOWN_FAILURES)


def downgrade() -> None:
    op.execute("""
    DROP INDEX build_of_job_finished;
    DROP TABLE known_match;
    DROP TABLE known_failure;
    ALTER TABLE build DROP COLUMN failures_cut;
    DROP TABLE failure;
    DROP TABLE signature;
    """)
