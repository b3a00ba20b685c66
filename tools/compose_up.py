"""``make compose-up``: start the parts of Benchgate in containers, with secrets of their own."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.request import urlopen

ADDRESS: Final = "http://127.0.0.1:8080"
PATIENCE_SECONDS: Final = 300.0  # the first start creates the database
COMMANDS: Final = (("docker", "compose"), ("docker-compose",))
_SECRET: Final = re.compile(r"\$\{(\w+):\?")  # a variable that must be set


def write_secrets(path: Path, compose_file: str) -> bool:
    """Write random values of the variables that a compose file demands; return False if the file exists."""
    if path.exists():
        return False
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        names = dict.fromkeys(_SECRET.findall(compose_file))
        stream.writelines(f"{name}={secrets.token_hex(24)}\n" for name in names)
    return True


def compose() -> tuple[str, ...]:
    """Return the command of Compose 2, or else of docker-compose 1.29.

    Raises:
        SystemExit: neither is installed, or the Docker daemon does not answer.
    """
    found = next((words for words in COMMANDS if _succeeds(*words, "version")), None)
    if found is None:
        raise SystemExit("Docker Compose is missing: install it (Debian: docker.io docker-compose)")
    if not _succeeds("docker", "info"):
        raise SystemExit("the Docker daemon does not answer: start it, or run this as a user who may use it")
    return found


def wait_until_ready() -> bool:
    """Wait until the web part reports that it is ready; return False after five minutes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), urlopen(f"{ADDRESS}/readyz", timeout=5):  # noqa: S310
            return True
        time.sleep(1)
    return False


def main() -> int:
    """Start the containers of the compose file in this directory, and print where the pages are."""
    words = compose()
    if write_secrets(Path(".env"), Path("docker-compose.yml").read_text(encoding="utf-8")):
        print("wrote new passwords to .env; keep this file, the database knows them")
    started = subprocess.run((*words, "up", "-d"), check=False).returncode == 0  # noqa: S603 - found above
    if not started or not wait_until_ready():
        print(f"Benchgate is not ready; see `{' '.join(words)} logs`", file=sys.stderr)
        return 1
    print(f"Benchgate is ready at {ADDRESS}\nto stop it: {' '.join(words)} down (the data stays)")
    return 0


def _succeeds(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0  # noqa: S603
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
