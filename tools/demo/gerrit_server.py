"""Run a real Gerrit on this machine by ``tools/gerrit-dev``."""

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

from service.domain.values.errors import Permanent, Unfit
from tools.demo.repository import BRANCH, PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REVIEWERS: Final = f"{PROJECT}-reviewers"  # the group that the tool creates for the project
_TOOL: Final = Path(__file__).resolve().parents[2] / "tools" / "gerrit-dev"
_PREFIX: Final = "gerrit-dev: "
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Account:
    """An account on the server; its email address is in its commits."""

    user: str
    name: str
    email: str
    password: str = field(repr=False)
    key: str  # the file of the private SSH key


@dataclass(frozen=True, slots=True)
class GerritServer:
    """A running server with one project: alice uploads, bob reviews, buildbot is Benchgate's account."""

    url: str
    ssh_host: str
    ssh_port: int
    known_hosts: str
    alice: Account
    bob: Account
    buildbot: Account

    @property
    def settings(self) -> Mapping[str, str]:
        """All BENCHGATE_ variables about Gerrit for a site that votes on this server."""
        return {
            "BENCHGATE_GIT_URL": f"{self.url}/{{project}}",
            "BENCHGATE_GIT_URLS": "{}",
            "BENCHGATE_GERRITS": "{}",
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
        """Make the URL to which an account pushes."""
        scheme, _, place = self.url.partition("://")
        sign_in = f"{quote(account.user, safe='')}:{quote(account.password, safe='')}"
        return f"{scheme}://{sign_in}@{place}/a/{PROJECT}"


def described(answer: str) -> GerritServer:
    """Parse the tool's description of a server.

    Raises:
        Permanent: the description is incomplete.
    """
    try:
        description = json.loads(answer)
        alice, bob, buildbot = (
            Account(
                user,
                *(description["accounts"][user][part] for part in ("name", "email", "password", "key")),
            )
            for user in ("alice", "bob", "buildbot")
        )
        ssh = description["ssh"]
        host, port, known_hosts = ssh["host"], int(ssh["port"]), ssh["known_hosts"]
        return GerritServer(description["url"], host, port, known_hosts, alice, bob, buildbot)
    except (ValueError, KeyError, TypeError) as error:
        raise Permanent(f"{_TOOL} did not describe a server: {error!r}") from error


def fetch_gerrit() -> None:
    """Check that a server can be started here, and download its parts the first time.

    Raises:
        Unfit: a required program is missing.
    """
    if not _TOOL.exists():
        raise Unfit(f"the repository's tools/gerrit-dev starts Gerrit, but {_TOOL} does not exist")
    _gerrit_dev("fetch")


@contextmanager
def running_gerrit(directory: Path, repository: Path) -> Iterator[GerritServer]:
    """Run a server with its data in ``directory`` and the repository's branch in its project.

    This process and its children connect to it directly, even if the environment names a proxy. The server is
    stopped at the end.

    Raises:
        Unfit: the server cannot be started; the message has the reason.
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
        Unfit: the server cannot be stopped; the message has the reason.
    """
    with subprocess.Popen(  # noqa: S603 - fixed arguments
        _words("down", str(directory)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A second Ctrl-C ends this process; Gerrit must stop nevertheless.
        start_new_session=True,
    ) as process:
        _, errors = process.communicate()
    if process.returncode != 0:
        raise Unfit(last_message(errors))


def _gerrit_dev(*words: str) -> str:
    """Run the tool, and return its output.

    Raises:
        Unfit: it failed, with its last message.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    done = subprocess.run(  # noqa: S603 - fixed arguments
        _words(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise Unfit(last_message(done.stderr))
    return done.stdout


def last_message(errors: str) -> str:
    """Extract the tool's last message, which may have several lines."""
    return errors.rpartition(_PREFIX)[2].strip()


def _words(*words: str) -> list[str]:
    return [sys.executable, str(_TOOL), *words]
