"""Create the API tokens, and the reports that other CIs sent with them.

A token is stored as the digest of its text.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_2210"
down_revision = "20261122_2200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE token (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            digest bytea NOT NULL UNIQUE,
            name text NOT NULL,
            scopes text[] NOT NULL,
            created_by text NOT NULL,
            subject text NOT NULL DEFAULT '',
            email text NOT NULL DEFAULT '',
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL,
            used_at timestamptz,
            revoked_at timestamptz
        )
        """
    )
    op.execute(
        """
        CREATE TABLE report (
            token_id bigint NOT NULL REFERENCES token,
            key text NOT NULL,
            digest bytea NOT NULL,
            is_news boolean NOT NULL DEFAULT false,
            received_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (token_id, key)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE report")
    op.execute("DROP TABLE token")
