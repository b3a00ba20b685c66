"""The key of built programs: equal keys mean interchangeable programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from service.domain.identity import digest_of


@dataclass(frozen=True, slots=True)
class BinaryKey:
    """The inputs that determine a program.

    ``trust`` separates programs of unreviewed code from those of reviewed code. ``link_variant``
    distinguishes relinks of the same objects (empty: the project's own link).
    """

    tree: str
    build_hash: str
    toolchain: str
    trust: str = "reviewed"
    link_variant: str = ""

    @property
    def digest(self) -> str:
        """The digest of the key, 64 hexadecimal digits."""
        return digest_of(asdict(self))

    def relinked(self, variant: int) -> BinaryKey:
        """Make the key of the same objects, relinked in the order of the given variant."""
        # Relinks of the programs alone, which earlier versions kept, were "relink N".
        return replace(self, link_variant=f"relink {variant} of all")

    @property
    def link_seed(self) -> int:
        """The seed of a relink's order: 1 to 2³¹ − 2, the range of its generator.

        It depends on the whole key, so the two sides of a comparison never share a layout, and every machine
        gets the same program for a key.
        """
        return 1 + int(self.digest[:16], 16) % (2**31 - 2)
