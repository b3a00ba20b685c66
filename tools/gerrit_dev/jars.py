"""Download the jars of a release by Maven, and check their pinned digests."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING, Final

from tools.gerrit_dev.cache import kept
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import CannotServe, report

if TYPE_CHECKING:
    from pathlib import Path

    from tools.gerrit_dev.releases import Jar, Release

# Plug-ins are also pinned, because Maven's default versions differ between Linux distributions.
COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# Names no repository, so that Maven uses the one configured on this machine. The jars are complete; their
# declared dependencies are not needed.
POM: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>gerrit.dev</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY: Final = """
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""


def class_path(release: Release, java: Path, cache: Path) -> str:
    """Make the value of Java's ``-cp`` for a release.

    Raises:
        CannotServe: Maven is missing or cannot download a jar, or a jar is not the pinned one.
    """
    directory = kept(
        cache / release.version,
        lambda path: all(_is_pinned(path, jar) for jar in release.jars),
        lambda path: _fetch(release, java, path),
    )
    entries = ["version", *(jar.file_name for jar in release.jars)]
    return os.pathsep.join(str(directory / entry) for entry in entries)


def _is_pinned(directory: Path, jar: Jar) -> bool:
    path = directory / jar.file_name
    return path.exists() and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(release: Release, java: Path, directory: Path) -> None:
    report(f"downloading Gerrit {release.version} by Maven")
    pom = directory / "pom.xml"
    wanted = (DEPENDENCY.format(group=j.group, artifact=j.artifact, version=j.version) for j in release.jars)
    pom.write_text(POM.format(dependencies="".join(wanted)), encoding="utf-8")
    _run_maven(["-f", str(pom), COPY, f"-DoutputDirectory={directory}"], java)
    for jar in release.jars:
        if not _is_pinned(directory, jar):
            raise CannotServe(f"{jar.file_name} from Maven is not the pinned one: its SHA-256 differs")
    _write_version(release, directory)


def _run_maven(words: list[str], java: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotServe(
            "downloading Gerrit needs Maven, and mvn is not on PATH (Debian: apt install maven)"
        )
    has_java = "JAVA_HOME" in os.environ or shutil.which("java") is not None
    environment = {} if has_java else {"JAVA_HOME": str(java.parents[1])}
    output_of(maven, "-q", "-B", "-Dstyle.color=never", *words, environment=environment)


def _write_version(release: Release, directory: Path) -> None:
    """Write the version file, which no jar contains; without it the server's version would be "(dev)"."""
    path = directory / "version" / "com" / "google" / "gerrit" / "common" / "Version"
    path.parent.mkdir(parents=True)
    path.write_text(f"{release.version}\n", encoding="utf-8")
