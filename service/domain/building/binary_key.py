"""The key under which built programs are kept: equal keys mean interchangeable programs."""

from __future__ import annotations

from dataclasses import dataclass, replace

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

    def relinked(self, variant: int) -> BinaryKey:
        """The key of the same objects, linked for the ``variant``-th time in an order of its own."""
        return replace(self, link_variant=f"relink {variant}")

    @property
    def link_seed(self) -> int:
        """From which a relink draws its order: 1 to 2³¹ − 2, the range of its generator.

        It follows from the whole key, so that two sides of a comparison never share a layout and what is
        kept could have been made by anybody.
        """
        return 1 + int(self.digest[:16], 16) % (2**31 - 2)
