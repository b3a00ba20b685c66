"""Write the sentences of a measured build: its judgement and notes, or a calibration's false alarms."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from service.domain.measuring.function_names import shown_name
from service.domain.measuring.metric import metric_named
from service.domain.measuring.renaming import short_form, unused_entries
from service.domain.project.benchmark_names import heads
from service.domain.runs.vote import Outcome
from service.domain.values.text import listed, plain, signed_percent
from service.domain.verdict.comparison.instruction_counts import AGREEMENT
from service.domain.verdict.comparison.suite import policy_for
from service.domain.verdict.inference.estimate import MIN_PAIRS
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.failures import tests_too_short
from service.domain.wording.judgement import describe, judgement_causes
from service.domain.wording.outlook import more_time
from service.domain.wording.reasons import BLIND_COUNTS, SAME_PROGRAM, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from service.domain.measuring.listing import Listing
    from service.domain.project.job import Job
    from service.domain.project.policy import Policy
    from service.domain.runs.judge_build import Measured, Notes
    from service.domain.verdict.calibration.evidence import Session
    from service.domain.verdict.comparison.grown_functions import Explained, Grown
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison

WITHOUT_HISTORY: Final = "judged without history: the rate of false alarms on this machine is not known"
_NO_BENCHMARK: Final = "nothing to compare with: no benchmark of the parent matches the filters of the suites"
_NO_TEST: Final = "nothing to compare with: the parent has no test that can be compared"
_SHOWN: Final = 3  # warnings of the reader that a message repeats, and slower benchmarks that it explains
_FUNCTION: Final = 60  # characters of a function's name
_LIBRARIES: Final = 2  # functions of libraries that a function calls
_NEGLIGIBLE: Final = 0.05  # of a growth
_ZERO: Final = 5e-5  # shown as ±0.00 %
_MOST_RENAMED: Final = 100  # pairs of names in a message; entries for whole families make fewer
_RENAMED_IN_LINE: Final = 5


def measured_causes(
    measured: Measured, policy: Policy, machine: str, *, is_time_asked: bool = False
) -> tuple[str, ...]:
    """Write the causes of a build that ``machine`` measured.

    ``is_time_asked``: a person chose the machine time of this build.
    """
    if measured.judgement.outcome is Outcome.NO_PARENT:
        return (_NO_TEST if measured.notes.are_tests else _NO_BENCHMARK,)
    policy = policy_for(policy, measured.listings)
    causes = judgement_causes(measured.judgement, policy, machine, are_tests=measured.notes.are_tests)
    remedy = more_time(is_asked=is_time_asked)
    return (*causes, *_renamed(measured.listings), *_notes(measured, policy, remedy))


def measured_notes(notes: Notes) -> tuple[str, ...]:
    """Write the notes of a measured build that no decision needs, for pages and local results."""
    short = (tests_too_short(notes.too_short),) if notes.too_short else ()
    again, kept, pairs = notes.disturbed.left_out, notes.disturbed.kept, notes.disturbed.pairs
    if not again + kept:
        return short
    count = f"{again + kept} of {pairs} pairs were disturbed by other work"
    return (*short, f"{count}: {again} measured again, {kept} kept")


def unused_notes(job: Job, listings: Sequence[Listing]) -> tuple[str, ...]:
    """Name the entries of the project file that fit no benchmark or metric, for pages and local results."""
    sides = {each.suite: ((*each.base, *each.renamed.values()), each.patch) for each in listings}
    if not sides:
        return ()
    suites = [suite for suite in job.benchmark.suites if suite.name in sides]
    renamed = [
        f"{old} → {new}" for suite in suites for old, new in unused_entries(suite.renamed, *sides[suite.name])
    ]
    units = [
        name
        for suite in suites
        for name in suite.units
        if name not in suite.metrics or metric_named(name).is_speed
    ]
    names = {head for both in sides.values() for side in both for name in side for head in heads(name)}
    # The names of tests that are too short to be compared are not kept.
    is_whole = not any(each.too_short for each in listings)

    def unknown(entries: Collection[str]) -> list[str]:
        return [name for name in entries if is_whole and name not in names]

    unused = {
        "renamed: no such benchmarks": renamed,
        "vote_at_of: no such benchmarks": unknown(job.policy.vote_at_of),
        "machine_time_of: no such benchmarks": unknown(job.policy.machine_time_of),
        "units: no counters among the metrics of their suite": units,
    }
    return tuple(f"{what}: {plain(listed(each))}" for what, each in unused.items() if each)


def anchor_cause(rows: Sequence[Comparison]) -> str:
    """Summarise an anchor in one sentence."""
    compared = [row for row in rows if row.ratio is not None]
    if not compared:
        return f"nothing has the {MIN_PAIRS} pairs that a comparison needs"
    worst = max(compared, key=lambda row: row.worsening)
    comparisons = "1 comparison" if len(compared) == 1 else f"{len(compared)} comparisons"
    return f"{comparisons} of distant commits, for the trends; worst: {describe(worst)}"


def calibration_cause(rows: Sequence[Comparison], sessions: Mapping[ComparedRow, Session]) -> str:
    """Summarise a calibration's sessions in one sentence."""
    if not sessions:
        return f"nothing has the {MIN_PAIRS} pairs that a comparison needs"
    alarms = [row for row in rows if row.row in sessions and sessions[row.row].is_alarm]
    pairs = max(len(session.logs) for session in sessions.values())
    comparisons = "1 comparison" if len(sessions) == 1 else f"{len(sessions)} comparisons"
    of = f"{comparisons} of {pairs} pairs of a program with itself"
    if not alarms:
        return f"no false alarm in {of}"
    worst = max(alarms, key=lambda row: abs(row.worsening))
    word = "alarms" if len(alarms) > 1 else "alarm"
    return f"{len(alarms)} false {word} in {of}; worst: {describe(worst)}"


def _renamed(listings: Sequence[Listing]) -> Iterator[str]:
    """Name the pairs of old and new names, once for those that differ only in arguments."""
    counted = Counter(short_form(old, new) for each in listings for new, old in each.renamed.items())
    pairs = [
        f"{plain(old)} → {plain(new)}{f' ({count} benchmarks)' if count > 1 else ''}"
        for (old, new), count in counted.items()
    ]
    for first in range(0, min(len(pairs), _MOST_RENAMED), _RENAMED_IN_LINE):
        yield f"compared as renamed: {', '.join(pairs[first : first + _RENAMED_IN_LINE])}"
    if len(pairs) > _MOST_RENAMED:
        yield f"{len(pairs) - _MOST_RENAMED} more pairs of renamed benchmarks"


def _notes(measured: Measured, policy: Policy, remedy: str) -> Iterator[str]:
    notes = measured.notes
    if suites := notes.same_program:
        yield f"suite{'s' if len(suites) > 1 else ''} {plain(', '.join(suites))}: {SAME_PROGRAM}"
    yield from _instructions(notes.counted, is_advisory=notes.is_counting_advisory)
    yield from filter(None, map(_explanation, notes.explained[:_SHOWN]))
    if notes.are_programs_kept_in_place:
        yield (
            "the programs are too large to copy for every pair, "
            "so a difference may come from their place in memory"
        )
    if notes.pairs_to_prove > policy.max_pairs:
        least, nouns = notes.pairs_to_prove, "tests" if notes.are_tests else "benchmarks"
        yield (
            f"max_pairs is {policy.max_pairs}, but with this many {nouns} it takes {least} pairs "
            "to prove a difference: raise max_pairs in benchgate.yaml"
        )
    if missing := measured.judgement.missing_pairs:
        yield (
            f"the machine time ended {missing} pair{'s' if missing > 1 else ''} before any difference could "
            f"be found, so there is no +1: {remedy}, or measure less"
        )
    yield from (f"warning: {plain(text)}" for text in notes.warnings[:_SHOWN])
    if (more := len(notes.warnings) - _SHOWN) > 0:
        yield f"{more} more warnings about results"


def _instructions(rows: Sequence[Comparison], *, is_advisory: bool) -> Iterator[str]:
    if not rows:
        return
    by_verdict = {v: [row for row in rows if row.verdict is v] for v in Verdict}
    slower = sorted(by_verdict[Verdict.SLOWER], key=lambda row: -row.worsening)
    faster = sorted(by_verdict[Verdict.FASTER], key=lambda row: row.worsening)
    parts = [_most(chosen, word) for chosen, word in ((slower, "increased"), (faster, "decreased")) if chosen]
    if same := by_verdict[Verdict.SAME]:
        parts.append(f"{len(same)} unchanged")
    if unknown := by_verdict[Verdict.UNDECIDED]:
        first = unknown[0]
        why = plain(text_of(first.reasons))
        parts.append(f"{len(unknown)} unknown: {plain(first.row.benchmark)}: {why}")
    vote = "no vote" if is_advisory else "voting"
    yield f"instructions of {len(rows)} benchmarks ({vote}): {'; '.join(parts)}; {BLIND_COUNTS}"


def _most(chosen: Sequence[Comparison], word: str) -> str:
    first = chosen[0]
    size = "" if first.ratio is None else f" {signed_percent(first.ratio)}"
    return f"{len(chosen)} {word}, most in {plain(first.row.benchmark)}{size}"


def about_instructions(benchmark: str) -> str:
    """Begin the line that says where the instructions of a slower benchmark grew."""
    return f"{plain(benchmark)}: instructions "


def _explanation(found: Explained) -> str:
    """Say where the instructions of a slower benchmark grew, or that they did not; never as time."""
    of = about_instructions(found.benchmark)
    if abs(found.total) <= AGREEMENT:
        return (
            f"{of}are the same ({signed_percent(1 + found.total)}): "
            "no more instructions; memory, branches, costlier instructions, the kernel, waiting or code "
            "placement may be the cause"
        )
    if found.growth is None:
        return ""
    size, functions, rest = signed_percent(1 + found.total), found.growth.functions, found.growth.rest
    is_whole = abs(rest) <= _NEGLIGIBLE * found.total
    if is_whole and len(functions) == 1:
        return f"{of}{size}, {'nearly all' if abs(rest) > _ZERO else 'all'} in {_function(functions[0])}"
    parts = [f"{signed_percent(1 + each.share)} in {_function(each)}" for each in functions]
    elsewhere = [] if is_whole else [f"{signed_percent(1 + rest)} elsewhere"]
    return f"{of}{size}: {'; '.join((*parts, *elsewhere))}"


def _function(found: Grown) -> str:
    # Without backticks: a message's Markdown is escaped, and code would show the backslashes.
    name = shown_name(found.name, _FUNCTION)
    if found.was:
        name = f"{name} (probably {shown_name(found.was, _FUNCTION)} in the parent)"
    elif found.caller:
        name = f"{name}, which {shown_name(found.caller, _FUNCTION)} calls"
    if not found.libraries:
        return name
    called = " and ".join(shown_name(each, _FUNCTION) for each in found.libraries[:_LIBRARIES])
    return f"{name}, mostly its calls of {called}{' and others' if found.libraries[_LIBRARIES:] else ''}"
