"""``make compose-up``: start the parts of Benchgate in containers, with secrets of their own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

ADDRESS: Final = "http://127.0.0.1:8080"
PATIENCE_SECONDS: Final = 300.0  # the first start creates the database
SECRETS: Final = (
    "BENCHGATE_ADMINISTRATOR_PASSWORD",
    "BENCHGATE_OWNER_PASSWORD",
    "BENCHGATE_MACHINE_PASSWORD",
    "BENCHGATE_BROKER_WEB_PASSWORD",
    "BENCHGATE_BROKER_CONTROL_PASSWORD",
    "BENCHGATE_BROKER_PERF_PASSWORD",
    "BENCHGATE_WEBHOOK_SECRET",
)


def write_secrets(path: Path) -> bool:
    """Write a file of random secrets that only its owner can read; leave an existing one as it is."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.writelines(f"{name}={secrets.token_hex(24)}\n" for name in SECRETS)
    return True


def compose() -> tuple[str, ...]:
    """Return the command of Compose 2, or else of docker-compose 1.29.

    Raises:
        SystemExit: neither is installed, or the Docker daemon does not answer.
    """
    candidates = (("docker", "compose"), ("docker-compose",))
    found = next((words for words in candidates if _succeeds(*words, "version")), None)
    if found is None:
        raise SystemExit("Docker Compose is missing: install it (Debian: docker.io docker-compose)")
    if not _succeeds("docker", "info"):
        raise SystemExit("the Docker daemon does not answer: start it, or run this as a user who may use it")
    return found


def wait_until_ready(address: str, patience: float = PATIENCE_SECONDS) -> bool:
    """Wait until the web part reports that it is ready; return False after ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{address}/readyz", timeout=5):  # noqa: S310 - our own address
                return True
        except (URLError, OSError):  # it does not listen yet, or answers 503
            time.sleep(1)
    return False


def main() -> int:
    """Start the containers of the compose file in this directory, and print where the pages are."""
    words = compose()
    if write_secrets(Path(".env")):
        print("wrote new passwords to .env; keep this file, the database knows them")
    subprocess.run((*words, "up", "-d"), check=True)  # noqa: S603 - found above
    if not wait_until_ready(ADDRESS):
        print(f"{ADDRESS}/readyz is not ready; see `{' '.join(words)} logs`", file=sys.stderr)
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
