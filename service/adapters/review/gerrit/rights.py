"""Check the rights of Benchgate's account on Gerrit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from service.adapters.review.gerrit.connection import GerritConnection
from service.adapters.review.gerrit.fields import object_from, person_from
from service.adapters.review.gerrit.reading import listed
from service.domain.machines.connections import GerritRights, Path
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from service.adapters.system.json_client import Bearer, Password

_ANY: Final = "q=status:open+OR+status:closed&n=1"


def read_gerrit_rights(url: str, credentials: Password | Bearer) -> GerritRights:
    """Read the global capabilities of an account, and whether Gerrit shows changes without one.

    Raises:
        Refused: Gerrit rejects the credentials.
        Permanent: the address is not that of a Gerrit.
        Transient: Gerrit does not answer.
        ValueError: the address or the credentials cannot be used.
    """
    account, anonymous = GerritConnection(url, credentials), GerritConnection(url, None)
    try:
        person = person_from(object_from(account.get("accounts/self")))
        capabilities = object_from(account.get("accounts/self/capabilities"))
        seen, shown = (listed(reader.get("changes/", _ANY)) for reader in (account, anonymous))
    finally:
        account.close()
        anonymous.close()
    address = urlsplit(url)
    return GerritRights(
        account=person.shown,
        path=Path(is_local=is_loopback(address.hostname or ""), is_encrypted=address.scheme == "https"),
        capabilities=frozenset(name for name, value in capabilities.items() if value),
        shows_changes=bool(shown) or not seen,
    )
