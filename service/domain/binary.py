"""The key under which built programs are kept: equal keys mean interchangeable programs."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain.identity import digest_of


@dataclass(frozen=True, slots=True)
class BinaryKey:
    """What a program follows from.

    ``trust`` keeps what unreviewed code built apart from what may serve as a parent; ``link_variant``
    tells relinks of the same objects apart (empty: as the project links it).
    """

    tree: str
    build_hash: str
    toolchain: str
    trust: str = "reviewed"
    link_variant: str = ""

    @property
    def digest(self) -> str:
        """64 hexadecimal digits."""
        return digest_of({name: getattr(self, name) for name in self.__dataclass_fields__})
