"""Explain runs that are refused or cannot be decided, and actions that a page does not offer."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.project_file import Permission
from service.domain.values.text import listed, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.runs.external import ReportedRevision

CHANGE_GONE: Final = "the review server does not show the change any more: it was deleted, or hidden"
LATE_RESULT: Final = "another CI reported a result after a newer patch set, or after the change was closed"
UNTRUSTED_PARENT: Final = "its parent is not merged and was not allowed to run"

_ALLOWED: Final[Mapping[Permission, str]] = MappingProxyType(
    {
        Permission.RERUN: "run builds again, measure longer and cancel",
        Permission.OVERRIDE: "override, accept and undo",
    }
)
FORM_USED: Final = "this form was sent already or is out of date; reload the page"
NO_EMAIL: Final = (
    "the identity provider has not verified an e-mail address of yours, so Benchgate cannot find your "
    "account on the review server; write the command in a comment on the change"
)
SIGHT_UNKNOWN: Final = "Gerrit does not answer, so Benchgate cannot tell what you may see"
GROUPS_UNKNOWN: Final = (
    "Benchgate does not know yet who may use commands here; it does after the next run: write `recheck` in "
    "a comment on the change"
)


def never_seen(target: ReportedRevision, seconds: float) -> str:
    """Refuse a report of a revision that did not become known in time."""
    return (
        f"there is no {target.kind} run of {plain(target.revision)} on change {target.change.number}, and "
        f"none came within {seconds:.0f} s: check the revision and the change"
    )


def no_account(email: str) -> str:
    """Refuse a person who has no account on the review server."""
    return (
        f"no account on the review server has {plain(email)} as its preferred e-mail address; set it there, "
        "or write the command in a comment on the change"
    )


def not_in_group(permission: Permission, person: str, group: str) -> str:
    """Explain that a person lacks a permission, because only a group has it."""
    return f"only members of {plain(group)} may {_ALLOWED[permission]}; {plain(person)} is not one"


def not_asked(error: Exception) -> str:
    """Refuse while the review server cannot tell a person's groups."""
    return f"the review server cannot say now which groups you are in ({plain(str(error))})"


def not_offered(word: str) -> str:
    """Refuse a command that has no effect on a patch set now."""
    return f"`{word}` does nothing on this patch set now; reload the page"


def moved(branch: str) -> str:
    """Explain that a run is cancelled because its change was moved to another branch."""
    return f"the change was moved to branch {plain(branch)}"


def untrusted(why: str) -> str:
    """Explain that code is held, and nobody can approve it before the fault is fixed."""
    return f"untrusted code is not run: {why}"


def held(why: str, group: str) -> str:
    """Explain that code is held until a member of the group approves it."""
    return untrusted(f"{why}; a member of {group} can approve it with `ok-to-test`")


def not_trusted(person: str, group: str) -> str:
    """Explain that a person is not in the group that is trusted."""
    return f"{plain(person) or 'its uploader'} is not a member of {group}"


def not_planned(failure: str) -> str:
    """Explain that planning a run failed after the last attempt."""
    return f"the run could not be planned: {failure}"


def not_decided(failure: str) -> str:
    """Explain that deciding the vote failed after the last attempt."""
    return f"the vote could not be decided: {failure}; `recheck` tries again"


LEAVES: Final = (
    "the patch set has no regular file benchgate.yaml: once it is merged, Benchgate ignores the branch"
)
_MOST_JOBS: Final = 20


def plan_changes(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Name the jobs that a valid file adds, removes and changes; empty if there is no difference."""
    kinds = {
        "adds": [name for name in after if name not in before],
        "removes": [name for name in before if name not in after],
        "changes": [name for name in after if name in before and after[name] != before[name]],
    }
    parts = [f"{verb} {_jobs(names)}" for verb, names in kinds.items() if names]
    return (
        f"once merged, benchgate.yaml {', '.join(parts)}; this patch set ran the branch's jobs"
        if parts
        else ""
    )


def _jobs(names: Sequence[str]) -> str:
    return f"job{'s' if len(names) > 1 else ''} {listed(names, _MOST_JOBS)}"
