"""Choose the recipients of a regression's notices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from service.domain.project.benchmark_names import entry_for
from service.domain.project.job import EVERY_BENCHMARK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.project.job import Job


class Channel(StrEnum):
    """Ways to tell somebody; values are stored."""

    MAIL = "mail"
    CHAT = "chat"
    CHANGE = "change"  # a comment on the merged change


class NoticeState(StrEnum):
    """The progress of a notice; values are stored."""

    WAITING = "waiting"
    SENDING = "sending"  # if it stays so, nobody knows whether it was sent: it is not sent again
    SENT = "sent"
    DROPPED = "dropped"  # nobody needs it any more, or the channel is not configured
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Recipient:
    """Somebody to tell. ``address`` is an e-mail address; other channels have one place."""

    channel: Channel
    address: str = ""


def recipients(
    slower: Iterable[tuple[Job, str]], path_owners: Iterable[str] = (), *, is_late: bool
) -> tuple[Recipient, ...]:
    """Return whom to tell of a regression: the owners of its benchmarks and files, and the project's chat.

    Args:
        slower: the slower benchmarks, with their jobs.
        path_owners: the owners of the files that the commit changed.
        is_late: no message on the change has told it.
    """
    owners = {address: None for job, benchmark in slower for address in _owners(job, benchmark)}
    owners |= dict.fromkeys(path_owners)
    shared = (Channel.CHAT, Channel.CHANGE) if is_late else (Channel.CHAT,)
    return (*map(Recipient, shared), *(Recipient(Channel.MAIL, address) for address in owners))


def _owners(job: Job, benchmark: str) -> tuple[str, ...]:
    """Return the addresses of the longest entry that covers the benchmark, or of that for all others."""
    return job.owners.get(entry_for(benchmark, job.owners) or EVERY_BENCHMARK, ())
