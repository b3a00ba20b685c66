"""Start a server step by step, without the steps that are already done."""

from __future__ import annotations

import time
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tools.gerrit_dev import process
from tools.gerrit_dev.cache import cache_directory
from tools.gerrit_dev.jars import class_path
from tools.gerrit_dev.java import choose
from tools.gerrit_dev.people import ADMIN, described, make_accounts, make_reviewers
from tools.gerrit_dev.ports import HOST, Ports, choose_ports, is_open
from tools.gerrit_dev.project import LABEL, Project, Seed, make_project
from tools.gerrit_dev.releases import RELEASES, named
from tools.gerrit_dev.reporting import CannotServe, report
from tools.gerrit_dev.rest import Rest
from tools.gerrit_dev.site import configure, make_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.gerrit_dev.place import Place

# Enough memory for some hundred changes; Java's first compiler is enough for a server that runs for minutes.
JAVA_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
# A start takes 7 to 19 seconds on two cores; a busy machine may need ten times as long.
START_SECONDS: Final = 180.0
POLL_SECONDS: Final = 0.2
LOG_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Request:
    """The requested properties of a server; 0 and None: the last value, or a default."""

    ports: Ports
    project: str | None
    branch: str | None
    seed: Seed | None
    version: str | None


def bring_up(place: Place, request: Request) -> dict[str, Any]:
    """Start a server as requested, and describe it.

    Raises:
        CannotServe: a requirement is missing, or Gerrit does not start.
    """
    version = place.read().get("version")
    if version and request.version not in {None, version}:
        raise CannotServe(f"Gerrit {version} created {place.directory}; choose a new directory")
    if not _is_as_requested(place, request.ports):
        _start(place, request)
    record = place.read()
    project = Project(
        request.project or record.get("project", "demo"), request.branch or record.get("branch", "main")
    )
    url = record["url"]
    admin = Rest(url, ADMIN.user, ADMIN.password)
    make_accounts(admin, place)
    make_reviewers(admin, project.reviewers)
    signed_in = f"{url.replace('://', f'://{ADMIN.user}:{ADMIN.password}@')}/a"
    make_project(admin, project, signed_in, request.seed)
    place.write(record | _description(place, project))
    return state(place)


def fetch() -> None:
    """Download everything that a new server needs.

    Raises:
        CannotServe: a requirement is missing and cannot be downloaded.
    """
    _gerrit(None)


def state(place: Place) -> dict[str, Any]:
    """Read the record of a server, and add the state of its process."""
    pid = process.running(place)
    if pid is None:
        return {**place.read(), "running": False}
    memory = process.resident_megabytes(pid)
    return {**place.read(), "running": True, "pid": pid, "resident_megabytes": memory}


def _is_as_requested(place: Place, wanted: Ports) -> bool:
    ports = _ports_of(place.read())
    same = all(requested in (0, port) for requested, port in zip(wanted, ports, strict=True))
    return same and process.running(place) is not None and _answers(ports)


def _ports_of(record: dict[str, Any]) -> Ports:
    if "url" not in record:
        return 0, 0
    return urlsplit(record["url"]).port or 0, record["ssh"]["port"]


def _start(place: Place, request: Request) -> None:
    """Start the server, and replace one that does not answer or has other ports.

    The old server is stopped only when all requirements of the new one are met.
    """
    record = place.read()
    # A site needs the version that created it.
    version, gerrit = _gerrit(record.get("version") or request.version)
    make_site(place, gerrit)
    record |= {"version": version}
    place.write(record)
    is_running = process.running(place) is not None
    ports = choose_ports(request.ports, _ports_of(record), are_held=is_running)
    process.stop(place)
    configure(place, ports)
    place.write(record | _address(place, ports))
    report(f"starting Gerrit {version} on ports {ports[0]} (HTTP) and {ports[1]} (SSH)")
    _run(place, [*gerrit, "daemon", "--console-log", "-d", str(place.site)], lambda: _answers(ports))


def _gerrit(version: str | None) -> tuple[str, list[str]]:
    """Choose a version that can run here, and make the command for its programs."""
    cache = cache_directory()
    release, java = choose([named(version)] if version else RELEASES, cache)
    words = [str(java), *JAVA_OPTIONS, "-cp", class_path(release, java, cache), process.MAIN_CLASS]
    return release.version, words


def _address(place: Place, ports: Ports) -> dict[str, Any]:
    http, ssh = ports
    known_hosts = str(place.known_hosts)
    return {"url": f"http://{HOST}:{http}", "ssh": {"host": HOST, "port": ssh, "known_hosts": known_hosts}}


def _run(place: Place, words: list[str], is_ready: Callable[[], bool]) -> None:
    server = process.start(place, words)
    started = time.monotonic()
    while not is_ready():
        if server.poll() is not None:
            raise CannotServe(f"Gerrit exited during its start:\n{_last_lines(place)}")
        if time.monotonic() - started > START_SECONDS:
            process.stop(place)
            raise CannotServe(f"Gerrit does not answer after {START_SECONDS:.0f} s; its log is {place.log}")
        time.sleep(POLL_SECONDS)
    report(f"Gerrit answered after {time.monotonic() - started:.0f} s")


def _answers(ports: Ports) -> bool:
    http, ssh = ports
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{HOST}:{http}/config/server/version", timeout=5):
            return is_open(ssh)
    except (OSError, HTTPException):
        return False


def _last_lines(place: Place) -> str:
    return "\n".join(place.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])


def _description(place: Place, project: Project) -> dict[str, Any]:
    return {
        "project": project.name,
        "branch": project.branch,
        "label": LABEL,
        "reviewers": project.reviewers,
        "accounts": described(place, project.reviewers),
        "directory": str(place.directory),
        "log": str(place.log),
    }
