"""A real Gerrit, started by `tools/gerrit-dev`, and requests as any of its accounts."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx

from tools.gerrit_dev.java import installed
from tools.gerrit_dev.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOOL = Path(__file__).parents[3] / "tools" / "gerrit-dev"
OLDEST_JAVA = 17
GUARD = ")]}'"
_APPROVED = {"labels": {"Code-Review": 2, "Verified": 1}}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A patch set that was pushed for review."""

    number: int
    patch_set: int
    revision: str
    parent: str
    change_id: str


class GerritServer:
    """A started server with its project, and the actions of its people."""

    def __init__(self, description: Mapping[str, Any], scratch: Path) -> None:
        self.url: str = description["url"]
        self.project: str = description["project"]
        self.branch: str = description["branch"]
        self.reviewers: str = description["reviewers"]
        self.description = description
        self._clone = scratch
        self._people = {
            user: httpx.Client(
                base_url=f"{self.url}/a", auth=(user, who["password"]), timeout=60, trust_env=False
            )
            for user, who in description["accounts"].items()
        }

    def __enter__(self) -> Self:
        self._git("init", "-q", str(self._clone))
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._people.values():
            client.close()

    @property
    def pid(self) -> int:
        """The ID of its process."""
        return int(self.description["pid"])

    def stop(self) -> None:
        """Stop the process; keep everything else."""
        done = gerrit_dev("down", self.description["directory"])
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start it again, at the same addresses."""
        done = gerrit_dev("up", self.description["directory"])
        assert done.returncode == 0, done.stderr
        self.description = json.loads(done.stdout)

    def ask(self, user: str, method: str, path: str, body: object = None) -> httpx.Response:
        """Send a request as an account, and return the response."""
        return self._people[user].request(method, path, json=body)

    def rest(self, user: str, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Send a request as an account that has permission, and return the parsed response."""
        answer = self.ask(user, method, path, body)
        assert answer.is_success, f"{method} {path} as {user}: {answer.status_code} {answer.text}"
        text = answer.text.removeprefix(GUARD)
        return json.loads(text) if text.strip() else None

    def propose(
        self,
        files: Mapping[str, str],
        *,
        user: str = "alice",
        message: str = "A change",
        parent: Proposal | None = None,
    ) -> Proposal:
        """Push a new change on top of the branch, or of a patch set."""
        self._fetch(user, f"refs/heads/{self.branch}" if parent is None else _ref_of(parent))
        change_id = f"I{secrets.token_hex(20)}"
        self._commit(user, files, f"{message}\n\nChange-Id: {change_id}\n")
        return self._push(user, change_id)

    def amend(
        self,
        proposal: Proposal,
        files: Mapping[str, str],
        *,
        user: str = "alice",
        message: str = "A change",
    ) -> Proposal:
        """Push the next patch set: these files and this message, on the same parent."""
        self._fetch(user, _ref_of(proposal))
        text = f"{message}\n\nChange-Id: {proposal.change_id}\n"
        self._commit(user, files, text, "--amend", "--reset-author")
        return self._push(user, proposal.change_id)

    def review(
        self, user: str, proposal: Proposal, labels: Mapping[str, int], message: str = ""
    ) -> httpx.Response:
        """Vote and comment on a patch set."""
        path = f"/changes/{proposal.number}/revisions/{proposal.revision}/review"
        return self.ask(user, "POST", path, {"labels": labels, "message": message})

    def submit(self, proposal: Proposal, how: str = "INHERIT") -> None:
        """Approve a change and merge it, by a submit type of the server."""
        settings = f"/projects/{self.project}/config"
        self.rest("admin", "PUT", settings, {"submit_type": how})
        self.rest("bob", "POST", f"/changes/{proposal.number}/revisions/current/review", _APPROVED)
        self.rest("admin", "POST", f"/changes/{proposal.number}/submit", {})
        self.rest("admin", "PUT", settings, {"submit_type": "INHERIT"})

    def votes(self, number: int, label: str) -> dict[str, int]:
        """Read all votes on the current patch set, by user."""
        fields = self.rest("admin", "GET", f"/changes/{number}/detail")["labels"][label]
        return {vote["username"]: vote["value"] for vote in fields.get("all", []) if vote.get("value")}

    def meta(self, number: int) -> str:
        """Return the revision in which the server stores the state of a change."""
        return self._bare("rev-parse", _meta_of(number))

    def restore(self, number: int, meta: str) -> None:
        """Put a change back into an earlier state, as a backup does."""
        self._bare("update-ref", _meta_of(number), meta)
        self.rest("admin", "POST", f"/changes/{number}/index", {})

    def _bare(self, *words: str) -> str:
        repository = Place(Path(self.description["directory"])).site / "git" / f"{self.project}.git"
        argv = ["git", "--git-dir", str(repository), *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    def ssh(self, user: str, *words: str) -> list[str]:
        """Make the command line of a Gerrit command over SSH."""
        ssh = self.description["ssh"]
        options = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": ssh["known_hosts"],
        }
        argv = [
            "ssh",
            "-F",
            os.devnull,
            "-p",
            str(ssh["port"]),
            "-i",
            self.description["accounts"][user]["key"],
        ]
        argv += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return [*argv, f"{user}@{ssh['host']}", "gerrit", *words]

    def git_url(self, user: str) -> str:
        """Make the URL for fetches and pushes of an account."""
        password = self.description["accounts"][user]["password"]
        return f"{self.url.replace('://', f'://{user}:{password}@')}/a/{self.project}"

    def _fetch(self, user: str, ref: str) -> None:
        self._git("fetch", "-q", self.git_url(user), ref)
        self._git("checkout", "-q", "--detach", "FETCH_HEAD")

    def _commit(self, user: str, files: Mapping[str, str], message: str, *words: str) -> None:
        for name, text in files.items():
            (self._clone / name).parent.mkdir(parents=True, exist_ok=True)
            (self._clone / name).write_text(text, encoding="utf-8")
        self._git("add", "-A")
        who = self.description["accounts"][user]
        identity = ("-c", f"user.name={who['name']}", "-c", f"user.email={who['email']}")
        self._git(*identity, "commit", "-q", "--allow-empty", *words, "-m", message)

    def _push(self, user: str, change_id: str) -> Proposal:
        self._git("push", "-q", self.git_url(user), f"HEAD:refs/for/{self.branch}")
        triple = "~".join(quote(part, safe="") for part in (self.project, self.branch, change_id))
        change = self.rest(user, "GET", f"/changes/{triple}?o=CURRENT_REVISION")
        revision, parent = self._git("rev-parse", "HEAD", "HEAD^").split()
        assert change["current_revision"] == revision
        patch_set = change["revisions"][revision]["_number"]
        return Proposal(change["_number"], patch_set, revision, parent, change_id)

    def _git(self, *words: str) -> str:
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
        place = ("-C", str(self._clone)) if self._clone.exists() else ()
        argv = ["git", "-c", "http.proxy=", *place, *words]
        done = subprocess.run(argv, env={**os.environ, **alone}, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"git {words}: {done.stderr}"
        return done.stdout.strip()


def gerrit_dev(
    *words: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the tool like a user."""
    argv = [sys.executable, str(TOOL), *(str(word) for word in words)]
    passed = {**os.environ, **(environment or {})}
    return subprocess.run(argv, env=passed, capture_output=True, text=True, check=False)


@contextmanager
def running_gerrit(directory: Path, *words: str | Path) -> Iterator[GerritServer]:
    """Run a server in a new directory, and delete the directory at the end."""
    try:
        done = gerrit_dev("up", directory, *words)
        assert done.returncode == 0, done.stderr
        with GerritServer(json.loads(done.stdout), directory / "clone") as server:
            yield server
    finally:
        done = gerrit_dev("down", directory, "--wipe")
        assert done.returncode == 0, done.stderr


def missing_requirement() -> str:
    """Name a missing requirement of Gerrit; empty if there is none."""
    if shutil.which("mvn") is None:
        return "downloading Gerrit needs Maven, and mvn is not on PATH"
    if installed(OLDEST_JAVA) is None:
        return f"Gerrit needs Java {OLDEST_JAVA} or later, and there is none on PATH or at JAVA_HOME"
    return ""


def _ref_of(proposal: Proposal) -> str:
    return f"refs/changes/{proposal.number % 100:02d}/{proposal.number}/{proposal.patch_set}"


def _meta_of(number: int) -> str:
    return f"refs/changes/{number % 100:02d}/{number}/meta"
