"""Reply to comment commands that have no effect, or none that the reader sees at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.known import MAX_BUG
from service.domain.failures.signature import signature_of
from service.domain.values.text import listed, plain
from service.domain.wording.known_failures import to_be_compared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.failures.failure import Failure
    from service.domain.failures.known import Ends, KnownFailure
    from service.domain.project.project_file import Permission

STILL_RUNNING: Final = "a build is still running; try again when it has finished"
FAILED_ELSEWHERE: Final = "only builds of another CI failed; run them again there"
ONLY_ELSEWHERE: Final = "another CI runs these builds; run them again there"
NOTHING_FAILED: Final = "no build failed; `recheck all` runs all builds again"
RUN_CANCELLED: Final = "the run is cancelled; `recheck all` starts it again"
NO_RUN: Final = "no run is in progress"
NOT_MEASURED: Final = "no benchmark has been measured yet"
NO_PAIRS_NEEDED: Final = (
    "no selected benchmark needs more pairs: each is decided, or undecided for the other reason in its row"
)
OVERRIDDEN: Final = "its failure is overridden, and the override would not cover a new build"
NO_OVERRIDE: Final = "there is no override to undo"
RECORDED: Final = "recorded; it takes effect when the run finishes"
_MOST_NAMED: Final = 5  # failures; the page lists all
NOTHING_KNOWN: Final = (
    "overridden on this patch set only: the failed builds do not say what failed, so it cannot be recognised "
    "again"
)
_ONLY_ENDS: Final = (
    "overridden on this patch set only: all that is known of the failed builds is how they ended, and many "
    "faults end like this"
)
_ANY_FAILURE: Final = "any failure of this test, because no output says why it failed"
_SLOWER_NAMED: Final = 5  # benchmarks; a person needs an example, the message has all
_MAX_NAMES: Final = 500


def reply_to(word: str, reply: str) -> str:
    """Quote the command before its reply."""
    return f"`{word}`: {reply}"


def misspelt(line: str, expected: str) -> str:
    """Reply to a line that looks like a malformed command."""
    return f"{line}: {expected}"


def not_enabled(permission: Permission) -> str:
    """Reply to a command that the project enables for no group."""
    return f"not enabled: set `commands: {{{permission}: GROUP}}` in benchgate.yaml"


def command_failed(failure: str) -> str:
    """Reply to a comment after the last attempt at its commands failed."""
    return f"the commands of this comment failed: {plain(failure, _MAX_NAMES)}; write them again later"


def refused(error: Exception) -> str:
    """Reply to a person if their membership cannot be checked."""
    return f"refused: {error}"


def not_a_member(person: str, group: str) -> str:
    """Reply to a person without permission."""
    return f"refused: {plain(person)} is not a member of {group}"


def outdated(patch_set: int) -> str:
    """Reply to a command for a patch set that no longer gets votes."""
    return f"patch set {patch_set} is outdated or its change is closed"


def nothing_built(jobs: Sequence[str]) -> str:
    """Reply to `recheck` if the patch set changes no files of any job."""
    if not jobs:
        return "benchgate.yaml has no jobs, so there is nothing to run again"
    named = plain(", ".join(jobs), _MAX_NAMES)
    return f"the patch set changes no files of a job; `recheck JOB` runs a job anyway: {named}"


def nothing_to_override(job: str) -> str:
    """Reply to `override` if no build of the job failed, or of any job if none is named."""
    return f"there is no failed build{f' of {job}' if job else ''} to override"


def nothing_to_measure(job: str, decided: int, undecided: int) -> str:
    """Reply to `recheck` of a build that would not measure any more pairs."""
    if not undecided:
        return f"{job}: nothing to measure: every verdict is final ({decided} decided)"
    return (
        f"{job}: {decided} decided, which is final; {undecided} undecided, of which more pairs are measured "
        "only if a −1 may come of it; `benchmark FILTER xN` measures them longer"
    )


def nothing_to_accept(blamed: Sequence[str]) -> str:
    """Reply to `accept` with a filter that matches no slower or removed benchmark."""
    names = plain(", ".join(blamed[:_SLOWER_NAMED]), _MAX_NAMES)
    return f"the filter matches no slower or removed benchmark{f'; these are {names}' if blamed else ''}"


def no_measured_match(benchmark_filter: str) -> str:
    """Reply to `benchmark` with a filter that matches no benchmark."""
    return f"the filter {plain(benchmark_filter)} matches no measured benchmark"


def too_many_pairs(most: int) -> str:
    """Reply to `benchmark` for more pairs than a sequence can have."""
    return f"a benchmark can have at most {most} pairs"


def made_known(
    made: Sequence[tuple[KnownFailure, Failure]],
    link: Callable[[int], str],
    *,
    has_others: bool,
    compared: int = 0,
    ends: Sequence[Ends] = (),
) -> str:
    """Name the known failures that an override made, their expiry and how to close them.

    Args:
        made: known failures, each with the failure of the build.
        link: makes the address of a known failure's page.
        has_others: the builds have failures that cannot be recognised again.
        compared: how many waive no later build until a person compares the texts.
        ends: of the builds with failures that tell only how they ended.
    """
    if not made:
        return _only_ended(ends) if ends else NOTHING_KNOWN
    first, _ = made[0]
    named = "; ".join(
        f"{known.scope.job}: {_name_of(failure)} ({link(known.id)})" for known, failure in made[:_MOST_NAMED]
    )
    more = f"; and {len(made) - _MOST_NAMED} more" if len(made) > _MOST_NAMED else ""
    warning = (
        "; other failures of these builds say too little to be recognised, so a build with one still fails"
        if has_others
        else ""
    )
    if compared:
        warning += f"; {to_be_compared(compared, len(made))}"
    return (
        f"known until {first.expires_at:%Y-%m-%d} as {plain(first.bug, MAX_BUG)} on {first.scope.branch}: "
        f"{named}{more}{warning}; to end it sooner, set its state to fixed or invalid on its page"
    )


def own_errors(paths: Sequence[str]) -> str:
    """Warn that the patch itself may have caused a failure that became known."""
    return (
        f"warning: the patch touches {listed(paths)}, which does not compile: if the patch is the reason, "
        "this error now passes on other changes, too; write `override undo`, and set the known failure to "
        "invalid"
    )


def not_made_known(line: str) -> str:
    """Reply to an override whose reason only begins like a known failure, with the line that makes one."""
    return f"overridden on this patch set only; for the same failure on other changes, too, write `{line}`"


def override_dropped(lines: Sequence[str]) -> str:
    """Warn that an override does not cover the new builds, with the lines that repeat it."""
    repeated = ", ".join(f"`{plain(line, _MAX_NAMES)}`" for line in lines[:_MOST_NAMED])
    what = "build" if len(lines) == 1 else "builds"
    return f"the override does not cover the new {what}; if the failure is the same again, write {repeated}"


def _only_ended(ends: Sequence[Ends]) -> str:
    lines = dict.fromkeys(line for each in ends for line in each.lines)
    advice = (
        "; to recognise the failure, add a pattern for it" if all(each.may_match for each in ends) else ""
    )
    return f"{_ONLY_ENDS}: {plain('; '.join(lines), _MAX_NAMES)}{advice}"


def _name_of(failure: Failure) -> str:
    if signature_of(failure).covers_any_failure:
        return f"{plain(failure.subject, 120)}: {_ANY_FAILURE}"
    return plain(": ".join(filter(None, (failure.subject, failure.headline))), 120)
