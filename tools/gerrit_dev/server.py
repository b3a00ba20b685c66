"""Brings one server up, step by step, and leaves out what is there already."""

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
from tools.gerrit_dev.ports import HOST, Ports, chosen_ports, is_open
from tools.gerrit_dev.project import LABEL, Project, Seed, make_project
from tools.gerrit_dev.releases import RELEASES, named
from tools.gerrit_dev.reporting import CannotServe, say
from tools.gerrit_dev.rest import Rest
from tools.gerrit_dev.site import configure, make_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.gerrit_dev.place import Place

# Enough for some hundred changes; the first compiler alone suits a server that lives for minutes.
JAVA_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
# It takes 7 to 19 seconds on two cores; a machine that is busy gets ten times as long.
START_SECONDS: Final = 180.0
LOOK_SECONDS: Final = 0.2
LOG_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for; 0 and None: as before, else as it comes."""

    ports: Ports
    project: str | None
    branch: str | None
    seed: Seed | None
    version: str | None


def bring_up(place: Place, wish: Wish) -> dict[str, Any]:
    """A running server as it was asked for, described.

    Raises:
        CannotServe: something that is needed is missing, or Gerrit does not start.
    """
    made_by = place.read().get("version")
    if made_by and wish.version not in {None, made_by}:
        raise CannotServe(f"{place.directory} was made by Gerrit {made_by}; name a new directory")
    if not _is_as_wished(place, wish.ports):
        _start(place, wish)
    record = place.read()
    project = Project(
        wish.project or record.get("project", "demo"), wish.branch or record.get("branch", "main")
    )
    url = record["url"]
    admin = Rest(url, ADMIN.user, ADMIN.password)
    make_accounts(admin, place)
    make_reviewers(admin, project.reviewers)
    signed_in = f"{url.replace('://', f'://{ADMIN.user}:{ADMIN.password}@')}/a"
    make_project(admin, project, signed_in, wish.seed)
    place.write(record | _description(place, project))
    return state(place)


def fetch() -> None:
    """See to it that a new server can be started without downloading anything.

    Raises:
        CannotServe: something that is needed is missing and cannot be had.
    """
    _gerrit(None)


def state(place: Place) -> dict[str, Any]:
    """What `up` said about the server, and what its process does now."""
    pid = process.running(place)
    if pid is None:
        return {**place.read(), "running": False}
    memory = process.resident_megabytes(pid)
    return {**place.read(), "running": True, "pid": pid, "resident_megabytes": memory}


def _is_as_wished(place: Place, wanted: Ports) -> bool:
    ports = _ports_of(place.read())
    same = all(ask in (0, has) for ask, has in zip(wanted, ports, strict=True))
    return same and process.running(place) is not None and _answers(ports)


def _ports_of(record: dict[str, Any]) -> Ports:
    if "url" not in record:
        return 0, 0
    return urlsplit(record["url"]).port or 0, record["ssh"]["port"]


def _start(place: Place, wish: Wish) -> None:
    """Start the server, also instead of one that does not answer or has other ports.

    That one is stopped last: while something is missing it had better go on.
    """
    record = place.read()
    # A site belongs to the version that made it.
    version, gerrit = _gerrit(record.get("version") or wish.version)
    make_site(place, gerrit)
    record |= {"version": version}
    place.write(record)
    is_running = process.running(place) is not None
    ports = chosen_ports(wish.ports, _ports_of(record), are_held=is_running)
    process.stop(place)
    configure(place, ports)
    place.write(record | _address(place, ports))
    say(f"starting Gerrit {version} on ports {ports[0]} (HTTP) and {ports[1]} (SSH)")
    _run(place, [*gerrit, "daemon", "--console-log", "-d", str(place.site)], lambda: _answers(ports))


def _gerrit(version: str | None) -> tuple[str, list[str]]:
    """A version that can be run here, and what runs its programs."""
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
    began = time.monotonic()
    while not is_ready():
        if server.poll() is not None:
            raise CannotServe(f"Gerrit ended at once:\n{_last_lines(place)}")
        if time.monotonic() - began > START_SECONDS:
            process.stop(place)
            raise CannotServe(f"Gerrit does not answer after {START_SECONDS:.0f} s; its log is {place.log}")
        time.sleep(LOOK_SECONDS)
    say(f"it answers after {time.monotonic() - began:.0f} s")


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
