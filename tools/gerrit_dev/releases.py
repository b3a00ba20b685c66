"""Releases of Gerrit that can be started, each with its jars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tools.gerrit_dev.reporting import CannotServe


@dataclass(frozen=True, slots=True)
class Jar:
    """A published jar with its required digest."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Maven's name for the file."""
        return f"{self.artifact}-{self.version}.jar"


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Gerrit and the oldest Java that runs it."""

    version: str
    java: int
    jars: tuple[Jar, ...]


def _gerrit(version: str, java: int, api: str, framework: str) -> Release:
    # The server is published in two files: the plug-in API contains the server itself, the acceptance
    # framework contains the programs `init` and `daemon`, the web server and the database.
    return Release(
        version,
        java,
        (
            Jar("com.google.gerrit", "gerrit-plugin-api", version, api),
            Jar("com.google.gerrit", "gerrit-acceptance-framework", version, framework),
            *_CRYPTOGRAPHY,
        ),
    )


_CRYPTOGRAPHY: Final = (
    Jar(
        "org.bouncycastle",
        "bcprov-jdk18on",
        "1.80",
        "e8ad209f8c58d291a37ca9750e9e9fac60596956c983e49dd8282381dd8b3249",
    ),
    Jar(
        "org.bouncycastle",
        "bcpg-jdk18on",
        "1.80",
        "3799a0d53511b860780af43c44ae8e0519afabb263195af40174f46312cd58bd",
    ),
    Jar(
        "org.bouncycastle",
        "bcpkix-jdk18on",
        "1.80",
        "4f4ba6a92617ea19dc183f0fa5db492eee426fdde2a0a2d6c94777ffd1af6413",
    ),
)
# The newest first. The older release is for machines with Java 17.
RELEASES: Final = (
    _gerrit(
        "3.13.5",
        21,
        api="44d6a5e646ffc1bf9f8322f03046fd381b0cf51c1d4cc7d6bec9c5106dc1304d",
        framework="c301a154e777eb69c9b8904c3dbac1e70b4924ab7aeecf1f874d3cfd45bb5961",
    ),
    _gerrit(
        "3.10.2",
        17,
        api="3ee733da1bd1379c61005cde3ac4bced480ab211dc51f62ad7821a7f35b15c43",
        framework="29fd6bf05585ba57490d13e28fd4c5f9f859d3b55f5e1217ca437aa4f8f84c13",
    ),
)


def named(version: str) -> Release:
    """Find the release of a version.

    Raises:
        CannotServe: this tool no longer has the release.
    """
    for release in RELEASES:
        if release.version == version:
            return release
    raise CannotServe(f"this tool no longer supports Gerrit {version}; choose a new directory")
