"""Store commands of pages beside those of comments, the address of each review server, and tickets of forms.

The address keeps a setting from giving a server a second name. A ticket is valid once.
"""

from __future__ import annotations

from alembic import op

revision = "20261123_0200"
down_revision = "20261122_2240"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE heard"
        " ADD COLUMN source text NOT NULL DEFAULT 'comment' CHECK (source IN ('comment', 'page')),"
        " ADD COLUMN signed_in_as text NOT NULL DEFAULT '',"  # the person's subject at the identity provider
        " ADD COLUMN ticket bytea UNIQUE"  # the digest of the ticket of a page's form
    )
    op.execute("CREATE INDEX heard_on_page ON heard (patch_set_id, id) WHERE source = 'page'")
    op.execute("ALTER TABLE server ADD COLUMN url text")
    op.execute("ALTER TABLE token ADD COLUMN ticket bytea UNIQUE")


def downgrade() -> None:
    op.execute("ALTER TABLE token DROP COLUMN ticket")
    op.execute("ALTER TABLE server DROP COLUMN url")
    # The previous version would take a pending request for a comment, and reply to it on the review server.
    op.execute("UPDATE heard SET state = 'done' WHERE source = 'page'")
    op.execute("ALTER TABLE heard DROP COLUMN ticket, DROP COLUMN signed_in_as, DROP COLUMN source")
