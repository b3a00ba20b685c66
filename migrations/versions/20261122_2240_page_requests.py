"""Store requests that people make on pages."""

from __future__ import annotations

from alembic import op

revision = "20261122_2240"
down_revision = "20261122_2230"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE heard"
        " ADD COLUMN source text NOT NULL DEFAULT 'comment' CHECK (source IN ('comment', 'page')),"
        " ADD COLUMN signed_in_as text NOT NULL DEFAULT '',"  # the person's subject at the identity provider
        " ADD COLUMN ticket bytea UNIQUE"  # the digest of the ticket of a page's form, which is valid once
    )
    op.execute("CREATE INDEX heard_on_page ON heard (patch_set_id, id) WHERE source = 'page'")


def downgrade() -> None:
    # The previous version would take a pending request for a comment, and reply to it on the review server.
    op.execute("UPDATE heard SET state = 'done' WHERE source = 'page'")
    op.execute("ALTER TABLE heard DROP COLUMN ticket, DROP COLUMN signed_in_as, DROP COLUMN source")
