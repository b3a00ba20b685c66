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
from tempfile import NamedTemporaryFile
from typing import Final
from urllib.request import ProxyHandler, build_opener

ADDRESS: Final = "http://127.0.0.1:8080"
PATIENCE_SECONDS: Final = 300.0  # the first start creates the database
COMMANDS: Final = (("docker", "compose"), ("docker-compose",))
WITHOUT_PROXY: Final = build_opener(ProxyHandler({}))
_SECRET: Final = re.compile(r"\$\{(\w+):\?")  # a variable that must be set
_GIVEN: Final = re.compile(r"""^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*["']?[^\s"'#]""", re.MULTILINE)
_PROJECT: Final = re.compile(r"""^COMPOSE_PROJECT_NAME=["']?([^\s"'#]+)""", re.MULTILINE)
_MOUNTED: Final = re.compile(r"- \./(service/[^:]+):")


def write_secrets(path: Path, compose_file: str, volume: str = "") -> bool:
    """Complete the variables that a compose file demands, from the environment or with random values.

    ``volume`` is that of a database, which knows its passwords already. Return whether anything was written.

    Raises:
        SystemExit: there is such a database, and neither the file nor the environment has all variables.
    """
    path = path.resolve()
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    lacking = dict.fromkeys(_SECRET.findall(compose_file))
    for name in _GIVEN.findall(old):
        lacking.pop(name, None)
    unknown = [name for name in lacking if not os.environ.get(name)]
    if volume and unknown:
        raise SystemExit(
            f"{path} lacks {', '.join(unknown)}, but the database in the volume {volume} has passwords: "
            "restore the file, or remove the volume, which deletes everything"
        )
    if volume or not lacking:
        return False
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".env.", delete=False) as stream:
        stream.writelines(f"{line}\n" for line in old.splitlines() if line.strip(" =") not in lacking)
        stream.writelines(f"{name}={os.environ.get(name) or secrets.token_hex(24)}\n" for name in lacking)
    Path(stream.name).replace(path)
    return True


def require_readable(compose_file: str) -> None:
    """Raise SystemExit if a container's user cannot read a file of this directory that it mounts."""
    if closed := [name for name in _MOUNTED.findall(compose_file) if not Path(name).stat().st_mode & 0o004]:
        raise SystemExit(f"the containers cannot read all their files: chmod a+r {' '.join(closed)}")


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
        with suppress(OSError), WITHOUT_PROXY.open(f"{ADDRESS}/readyz", timeout=5):
            return True
        time.sleep(1)
    return False


def project_name(path: Path) -> str:
    """Return the name that Compose gives the project, whose ``.env`` is at ``path``."""
    own = _PROJECT.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    name = os.environ.get("COMPOSE_PROJECT_NAME") or (own or [path.absolute().parent.name])[-1]
    return re.sub(r"[^a-z0-9_-]", "", name.lower())


def stopped_services(project: str) -> list[str]:
    """Return the services of a project that neither run nor have done their work."""
    form = '{{.Label "com.docker.compose.service"}} {{.Status}}'
    labels = (f"project={project}", "oneoff=False")
    filters = (f"--filter=label=com.docker.compose.{label}" for label in labels)
    command = ("docker", "ps", "--all", *filters, f"--format={form}")
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    states = (line.partition(" ") for line in found.stdout.splitlines())
    return [service for service, _, state in states if not state.startswith(("Up", "Exited (0)"))]


def main() -> int:
    """Start the containers of the compose file in this directory, and print where the pages are."""
    words = compose()
    path, compose_file = Path(".env"), Path("docker-compose.yml").read_text(encoding="utf-8")
    require_readable(compose_file)
    if not (repositories := Path("var/git")).exists():
        repositories.mkdir(parents=True)  # Docker would create it for root
        repositories.chmod(0o755)
    volume = f"{(project := project_name(path))}_postgres"
    has_volume = _succeeds("docker", "volume", "inspect", volume)
    if write_secrets(path, compose_file, volume if has_volume else ""):
        print("wrote new passwords to .env; keep this file, the database knows them")
    started = subprocess.run((*words, "up", "-d"), check=False).returncode == 0  # noqa: S603 - found above
    if not started or not wait_until_ready():
        print(f"Benchgate is not ready; see `{' '.join(words)} logs`", file=sys.stderr)
        return 1
    if stopped := stopped_services(project):
        print(f"not running: {', '.join(stopped)}; see `{' '.join(words)} logs`", file=sys.stderr)
        return 1
    print(f"Benchgate is ready at {ADDRESS}\nto stop it: {' '.join(words)} down (the data stays)")
    return 0


def _succeeds(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
