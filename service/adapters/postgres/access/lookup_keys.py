"""Check untrusted look-up keys: a key that no row can have is not found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text as sql

from service.adapters.postgres.access.sight import visible_change
from service.adapters.postgres.storable import LARGEST_INTEGER
from service.domain.values.errors import Ambiguous, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from service.domain.values.identity import ChangeAddress

# The address of the change c; null if there is none. Each review server has a row from its first contact on.
ADDRESS: Final = """
    CASE WHEN (SELECT count(*) FROM server) > 1 THEN c.instance || '~' || c.number
    ELSE cast(c.number AS text) END
"""
_AT_ADDRESS: Final = f"""
    number = :number AND (cast(:instance AS text) IS NULL OR instance = :instance)
    AND {visible_change("change")}
"""
# The id of the only visible change at an address; takes address_keys and the values of a sight.
ID_AT_ADDRESS: Final = f"""
    SELECT min(id) AS id FROM change WHERE {_AT_ADDRESS} HAVING count(*) = 1
"""  # noqa: S608 - put together from constants
_CHOICES: Final = sql(f"""
SELECT instance || '~' || number AS address FROM change WHERE {_AT_ADDRESS} ORDER BY instance
""")  # noqa: S608 - put together from constants


def address_keys(address: ChangeAddress) -> dict[str, Any]:
    """Return the query parameters for the change at an address."""
    instance = None if address.instance is None else text_key(address.instance)
    return {"number": number_key(address.number), "instance": instance}


def without_change(connection: Connection, address: ChangeAddress, sight: Mapping[str, Any]) -> NotFound:
    """Return the error for an address that is not exactly one change's."""
    choices = connection.execute(_CHOICES, {**address_keys(address), **sight}).scalars().all()
    return Ambiguous(address.number, tuple(choices)) if choices else NotFound(f"there is no change {address}")


def number_key(number: int, largest: int = LARGEST_INTEGER) -> int:
    """Return a number that a column can hold; raise NotFound for any other."""
    if not 0 <= number <= largest:
        raise NotFound(f"there is no number {str(number)[:30]}")
    return number


def text_key(text: str) -> str:
    """Return a printable text; raise NotFound for any other, because all names are printable."""
    if not text.isprintable():
        raise NotFound("there is nothing of that name")
    return text
