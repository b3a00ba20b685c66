"""Create the project: its label, its permissions and its first commit."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.gerrit_dev.people import ADMIN, SERVICE_USERS
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import report
from tools.gerrit_dev.rest import one

if TYPE_CHECKING:
    from tools.gerrit_dev.rest import Rest

LABEL: Final = "Verified"
# A vote is copied if neither the files nor the parent changed; even a rebase without conflicts is new code.
LABEL_DEFINITION: Final = {
    "function": "NoBlock",
    "default_value": 0,
    "values": {"-1": "Fails", " 0": "No score", "+1": "Verified"},
    "copy_condition": "changekind:NO_CHANGE OR changekind:NO_CODE_CHANGE",
}
REQUIREMENT: Final = {
    "name": LABEL,
    "description": f"A {LABEL} +1 and no {LABEL} -1.",
    "submittability_expression": f"label:{LABEL}=MAX AND -label:{LABEL}=MIN",
    "allow_override_in_child_projects": True,
}
# A fixed date, so that the first commit always has the same ID.
DATE: Final = "1700000000 +0000"


@dataclass(frozen=True, slots=True)
class Seed:
    """A revision of a git repository that the branch starts with."""

    repository: Path
    revision: str

    @classmethod
    def parsed(cls, text: str) -> Seed:
        """Parse ``REPO`` or ``REPO:REV``; an existing path may contain a colon."""
        repository, colon, revision = text.rpartition(":")
        if not colon or Path(text).exists():
            repository, revision = text, "HEAD"
        return cls(Path(repository).resolve(), revision)

    def commit(self) -> str:
        """Resolve the revision to a commit ID."""
        return _git(self.repository, "rev-parse", "--verify", f"{self.revision}^{{commit}}")


@dataclass(frozen=True, slots=True)
class Project:
    """A project with its branch and the group that reviews it."""

    name: str
    branch: str

    @property
    def reviewers(self) -> str:
        """The name of the group."""
        return f"{self.name}-reviewers"

    @property
    def path(self) -> str:
        """The project's path in the REST API."""
        return f"/projects/{one(self.name)}"


def make_project(admin: Rest, project: Project, git_url: str, seed: Seed | None) -> None:
    """Create the project, its label, its permissions and its branch, if they are missing."""
    if not admin.has(project.path):
        report(f"creating project {project.name}")
        admin.put(project.path, {"branches": [project.branch], "create_empty_commit": False})
    # The requirement is created last, so that its existence proves the other steps.
    if not admin.has(f"{project.path}/submit_requirements/{LABEL}"):
        if not admin.has(f"{project.path}/labels/{LABEL}"):
            admin.put(f"{project.path}/labels/{LABEL}", LABEL_DEFINITION)
        admin.post(f"{project.path}/access", {"add": _rights(admin, project)})
        admin.put(f"{project.path}/submit_requirements/{LABEL}", REQUIREMENT)
    if not admin.has(f"{project.path}/branches/{one(project.branch)}"):
        _push(seed, f"{git_url}/{project.name}", project.branch)


def _rights(admin: Rest, project: Project) -> dict[str, Any]:
    names = (SERVICE_USERS, project.reviewers, "Administrators")
    bot, reviewers, admins = (admin.get(f"/groups/{one(name)}")["id"] for name in names)
    permissions = {
        f"label-{LABEL}": _range(-1, 1, bot, reviewers),
        f"removeLabel-{LABEL}": _range(-1, 1, reviewers),
        "label-Code-Review": _range(-2, 2, reviewers),
        "submit": _allowed(reviewers),
        "abandon": _allowed(reviewers),
        "push": _allowed(admins),
        "create": _allowed(admins),
        "pushMerge": _allowed(admins),
        "forgeAuthor": _allowed(admins),
        "forgeCommitter": _allowed(admins),
        "forgeServerAsCommitter": _allowed(admins),
    }
    return {"refs/heads/*": {"permissions": permissions}}


def _allowed(*groups: str) -> dict[str, Any]:
    return {"rules": {group: {"action": "ALLOW"} for group in groups}}


def _range(lowest: int, highest: int, *groups: str) -> dict[str, Any]:
    return {"rules": {group: {"action": "ALLOW", "min": lowest, "max": highest} for group in groups}}


def _push(seed: Seed | None, url: str, branch: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        source = seed or _first_commit(Path(scratch), url.rpartition("/")[2])
        what = f"{source.revision} of {source.repository} as {branch}" if seed else branch
        report(f"pushing {what}")
        _git(source.repository, "push", "-q", url, f"{source.commit()}:refs/heads/{branch}")


def _first_commit(repository: Path, name: str) -> Seed:
    (repository / "README.md").write_text(f"# {name}\n", encoding="utf-8")
    _git(repository, "init", "-q")
    _git(repository, "add", "README.md")
    _git(repository, "commit", "-q", "-m", "Initial commit")
    return Seed(repository, "HEAD")


def _git(repository: Path, *words: str) -> str:
    """Run git as the administrator, without the user's own configuration."""
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", ADMIN.name), ("EMAIL", ADMIN.email), ("DATE", DATE))
    }
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    settings = ("-c", "safe.directory=*", "-c", "http.proxy=")
    return output_of("git", *settings, "-C", str(repository), *words, environment={**who, **alone})
