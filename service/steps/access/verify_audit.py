"""Verify the audit log: its chain of hashes, and its protection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import NO_ENTRY, check_chain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.access.audit import AuditEntry, Chain, ProtectionFault
    from service.ports.access import AuditLog

_PAGE: Final = 1000  # entries in memory at once; each has a kilobyte or two


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification; ``protection_faults`` are the protections that are lost."""

    chain: Chain
    protection_faults: Sequence[ProtectionFault]

    @property
    def is_passed(self) -> bool:
        """Return whether the log is complete, unchanged and protected."""
        return self.chain.fault is None and self.chain.has_seen and not self.protection_faults


def verify_audit(log: AuditLog, head: bytes = NO_ENTRY) -> Verification:
    """Compute the hash of every entry anew, and check the protection of the stored log.

    Args:
        log: the stored log; it is read page by page.
        head: the hash of an entry that was seen earlier; ``NO_ENTRY``: none. Only this reveals that entries
            at the end were removed, because the others still form a chain.
    """
    return Verification(check_chain(_read(log), head), tuple(log.protection_faults()))


def _read(log: AuditLog) -> Iterator[AuditEntry]:
    last = 0
    while page := log.entries(last, _PAGE):
        yield from page
        last = page[-1].id
