"""A real Gerrit on this machine, brought up and taken down by ``tools/gerrit-dev``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from service.domain.errors import Permanent, Unfit
from tools.demo.repository import BRANCH, PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REVIEWERS: Final = f"{PROJECT}-reviewers"  # the group that the tool makes for the project
_TOOL: Final = Path(__file__).resolve().parents[2] / "tools" / "gerrit-dev"
_SAYS: Final = "gerrit-dev: "
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who signs in there; the commits of an account name its address."""

    user: str
    name: str
    email: str
    password: str = field(repr=False)
    key: str  # the file of the private SSH key


@dataclass(frozen=True, slots=True)
class GerritServer:
    """A running server with one project: alice uploads, bob reviews, buildbot is the service."""

    url: str
    ssh_host: str
    ssh_port: int
    known_hosts: str
    alice: Account
    bob: Account
    buildbot: Account

    @property
    def settings(self) -> Mapping[str, str]:
        """The BENCHGATE_ variables of a site that votes here and hears of events; every one about Gerrit."""
        return {
            "BENCHGATE_GIT_URL": f"{self.url}/{{project}}",
            "BENCHGATE_GERRIT_URL": self.url,
            "BENCHGATE_GERRIT_USER": self.buildbot.user,
            "BENCHGATE_GERRIT_PASSWORD": self.buildbot.password,
            "BENCHGATE_GERRIT_BEARER": "",
            "BENCHGATE_GERRIT_PROJECTS": json.dumps([PROJECT]),
            "BENCHGATE_GERRIT_SSH_HOST": self.ssh_host,
            "BENCHGATE_GERRIT_SSH_PORT": str(self.ssh_port),
            "BENCHGATE_GERRIT_SSH_USER": self.buildbot.user,
            "BENCHGATE_GERRIT_SSH_KEY": self.buildbot.key,
            "BENCHGATE_GERRIT_KNOWN_HOSTS": self.known_hosts,
        }

    def git_url(self, account: Account) -> str:
        """Where an account pushes to."""
        scheme, _, place = self.url.partition("://")
        sign_in = f"{quote(account.user, safe='')}:{quote(account.password, safe='')}"
        return f"{scheme}://{sign_in}@{place}/a/{PROJECT}"


def described(answer: str) -> GerritServer:
    """The server that the tool describes.

    Raises:
        Permanent: the description lacks something.
    """
    try:
        found = json.loads(answer)
        alice, bob, buildbot = (
            Account(user, *(found["accounts"][user][part] for part in ("name", "email", "password", "key")))
            for user in ("alice", "bob", "buildbot")
        )
        ssh = found["ssh"]
        host, port, known_hosts = ssh["host"], int(ssh["port"]), ssh["known_hosts"]
        return GerritServer(found["url"], host, port, known_hosts, alice, bob, buildbot)
    except (ValueError, KeyError, TypeError) as error:
        raise Permanent(f"{_TOOL} does not describe a server: {error!r}") from error


def fetch_gerrit() -> None:
    """See that a server can be started here; what it consists of is fetched the first time.

    Raises:
        Unfit: something that it needs is missing.
    """
    if not _TOOL.exists():
        raise Unfit(f"a Gerrit is started by the repository's tools/gerrit-dev, and there is no {_TOOL}")
    _gerrit_dev("fetch")


@contextmanager
def running_gerrit(directory: Path, repository: Path) -> Iterator[GerritServer]:
    """A server with its data in ``directory`` and the repository's branch as its project; stopped at the end.

    This process then reaches it, and so do those that it starts, whatever proxy the environment names.

    Raises:
        Unfit: it cannot be started; says why.
    """
    wanted = ("--project", PROJECT, "--branch", BRANCH, "--seed", f"{repository}:{BRANCH}")
    try:
        server = described(_gerrit_dev("up", str(directory), *wanted))
        others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
        os.environ["no_proxy"] = f"{others},{server.ssh_host}" if others else server.ssh_host
        yield server
    finally:
        stop_gerrit(directory)


def stop_gerrit(directory: Path) -> None:
    """Stop the server in a directory.

    Raises:
        Unfit: it cannot be stopped; says why.
    """
    with subprocess.Popen(  # noqa: S603 - our own words
        _words("down", str(directory)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A second Ctrl-C ends this process, and must not keep Gerrit alive.
        start_new_session=True,
    ) as process:
        _, said = process.communicate()
    if process.returncode != 0:
        raise Unfit(log_tail(said))


def _gerrit_dev(*words: str) -> str:
    """Its answer.

    Raises:
        Unfit: it failed; in its last words.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    done = subprocess.run(  # noqa: S603 - our own words
        _words(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise Unfit(log_tail(done.stderr))
    return done.stdout


def log_tail(said: str) -> str:
    """The last thing that the tool said, which may have lines below its first."""
    return said.rpartition(_SAYS)[2].strip()


def _words(*words: str) -> list[str]:
    return [sys.executable, str(_TOOL), *words]
