"""Store commands requested on pages beside the comments, to run as they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.form_commands import check_command
from service.ports.review.changes import PageRequest
from service.ports.runs.queue import Task

if TYPE_CHECKING:
    from service.domain.review.change import Account
    from service.domain.review.form_commands import FormCommand
    from service.ports.review.shown import PatchSetDetail
    from service.ports.store import Store


def request_command(
    store: Store,
    page: PatchSetDetail,
    account: Account,
    command: FormCommand,
    *,
    signed_in_as: str,
    ticket: bytes,
) -> int | None:
    """Store the request of a command for the patch set of a page; return its id.

    Args:
        store: where comments wait for their turn.
        page: the patch set that the person saw.
        account: the person's on the review server; its groups and name count.
        command: the command.
        signed_in_as: the person's name at the identity provider.
        ticket: the key of the page's form.

    Returns:
        None if a request with this ticket is stored already.

    Raises:
        BadInput: a part of the command is not allowed; names it.
    """
    check_command(command, [build.job for build in page.builds])
    request = PageRequest(
        patch_set_id=page.patch_set.id,
        account=account.id,
        person=account.name,
        signed_in_as=signed_in_as,
        command=command,
        ticket=ticket,
    )
    with store.transaction() as tx:
        number = tx.comments.add_request(request)
        if number is not None:
            tx.outbox.queue_task(Task.RUN_COMMENT_COMMANDS, number)
    return number
