"""Store a pair with the output of every launch exactly as the program wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.callgrind import Counted
from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.launch import ITSELF, SECOND, Preempted, read_launch
from service.domain.measuring.renaming import under_new_names
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.measuring.callgrind import Counts
    from service.domain.measuring.formats.reader import GBenchRun, ReadLimits
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.project.benchmark import Suite

# Bytes of all result files of one side in a pair: a hundred thousand rows with their repetitions.
RESULT_BYTES: Final = 64 << 20
# Bytes of a record, so that whatever programs may write can be read again: both sides, and ample facts.
RECORD_BYTES: Final = 2 * RESULT_BYTES + RESULT_BYTES // 2
_COUNTS: Final = "instructions"  # key in the facts of the first pair's launches


@dataclass(frozen=True, slots=True)
class PairRecord:
    """A stored pair: its number within its variant, and the bytes of :func:`encode`.

    Variant 0 is the programs as the project links them, :data:`service.domain.measuring.launch.SECOND` the
    second opinion, :data:`service.domain.measuring.launch.ITSELF` the control, and
    :data:`service.domain.verdict.comparison.link_layout.VARIANTS` are relinks.
    """

    pair: int
    raw: bytes
    variant: int = 0


@dataclass(frozen=True, slots=True)
class RawLaunch:
    """One launch: the bytes that it wrote, and facts about it (seconds, load).

    A suite with many benchmarks is launched in groups, so a pair may have several launches of a side.
    """

    suite: str
    side: Side
    output: bytes
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """Launches of a build's pairs, and the instruction counts that its first pair carries.

    ``second`` has those of the second opinion, on the programs as built, ``itself`` those of the control.
    """

    as_built: tuple[Launch, ...] = ()
    relinked: tuple[Launch, ...] = ()
    second: tuple[Launch, ...] = ()
    counts: Counts = field(default_factory=dict)
    itself: tuple[Launch, ...] = ()

    def under_new_names(self, listings: Sequence[Listing]) -> MeasuredPairs:
        """Rename the base's results to the patch's names, which the counts already have."""
        return replace(
            self,
            as_built=under_new_names(self.as_built, listings),
            relinked=under_new_names(self.relinked, listings),
            second=under_new_names(self.second, listings),
            itself=under_new_names(self.itself, listings),
        )


def with_counts(launches: Sequence[RawLaunch], counts: Counts) -> list[RawLaunch]:
    """Add the counts to the facts of the pair's first launch of each suite and side."""
    left = dict(counts)
    found = []
    for raw in launches:
        own = left.pop((raw.suite, raw.side), {})
        facts = {_COUNTS: {name: counted.to_mapping() for name, counted in own.items()}} if own else {}
        found.append(replace(raw, facts={**raw.facts, **facts}))
    return found


def counts_in(launches: Iterable[RawLaunch]) -> Counts:
    """Read the counts of a build from the launches of its first pair; empty if none were taken."""
    counts: Counts = {}
    for raw in launches:
        fact = raw.facts.get(_COUNTS)
        if isinstance(fact, dict):
            known = counts.setdefault((raw.suite, raw.side), {})
            known.update({name: Counted.from_mapping(each) for name, each in fact.items()})
    return counts


def encode(launches: Sequence[RawLaunch]) -> bytes:
    """Write one line of JSON that describes the launches, followed by their outputs in that order."""
    described = [
        {"suite": it.suite, "side": str(it.side), "facts": dict(it.facts), "bytes": len(it.output)}
        for it in launches
    ]
    return b"".join((json.dumps(described).encode(), b"\n", *(it.output for it in launches)))


def decode(raw: bytes) -> tuple[RawLaunch, ...]:
    """Read the launches that :func:`encode` wrote.

    Raises:
        BadResults: the bytes are no pair record.
    """
    try:
        end = raw.find(b"\n")
        if end < 0:
            return tuple(_decode_earlier(each) for each in json.loads(raw))
        launches, at = [], end + 1
        for each in json.loads(raw[:end]):
            output = raw[at : at + each["bytes"]]
            at += len(output)
            if len(output) != each["bytes"]:
                raise ValueError("the last output is incomplete")  # noqa: TRY301
            launches.append(RawLaunch(each["suite"], Side(each["side"]), output, each["facts"]))
        if at != len(raw):
            raise ValueError("it has more bytes than its outputs")  # noqa: TRY301
        return tuple(launches)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadResults(f"not a pair record: {str(error)[:200]}") from None


def _decode_earlier(each: Any) -> RawLaunch:  # noqa: ANN401 - any JSON
    """Decode a launch of the earlier format, in which outputs were strings."""
    output = each["output"].encode("utf-8", "surrogateescape")
    return RawLaunch(each["suite"], Side(each["side"]), output, each["facts"])


def read_pairs(records: Iterable[PairRecord], suites: Sequence[Suite]) -> MeasuredPairs:
    """Read every pair of a build; the base's benchmarks keep their own names.

    Raises:
        BadResults: a record cannot be read.
    """
    as_built: list[Launch] = []
    relinked: list[Launch] = []
    second: list[Launch] = []
    itself: list[Launch] = []
    counts: Counts = {}
    by_variant = {0: as_built, SECOND: second, ITSELF: itself}
    for record in records:
        by_variant.get(record.variant, relinked).extend(read_pair(record, suites))
        if (record.variant, record.pair) == (0, 0):
            counts = counts_in(decode(record.raw))
    return MeasuredPairs(tuple(as_built), tuple(relinked), tuple(second), counts, tuple(itself))


def read_pair(record: PairRecord, suites: Sequence[Suite]) -> tuple[Launch, ...]:
    """Read a pair, with the groups of each suite and side joined to one launch.

    Suites that the job no longer has are left out.

    Raises:
        BadResults: the record or an output cannot be read.
    """
    by_name = {suite.name: suite for suite in suites}
    pair, variant = record.pair, record.variant
    return join_groups(
        launch_of(raw, run_of(raw, pair, variant), by_name[raw.suite], pair, variant)
        for raw in decode(record.raw)
        if raw.suite in by_name
    )


def run_of(raw: RawLaunch, pair: int, variant: int, limits: ReadLimits | None = None) -> GBenchRun:
    """Read the output of a launch; errors and warnings name pair, side and suite.

    Raises:
        BadResults: the output cannot be read.
    """
    usual = f"relink {variant}, " if variant else ""
    of = {SECOND: "second opinion, ", ITSELF: "control, "}.get(variant, usual)
    source = f"{of}pair {pair}, {raw.side}, suite {raw.suite}"
    return read_run(raw.output, source=source, limits=limits)


def launch_of(raw: RawLaunch, run: GBenchRun, suite: Suite, pair: int, variant: int) -> Launch:
    """Reduce the output of a launch, which :func:`run_of` read, to its samples."""
    # By the limits in force when it was measured, so that new limits change no old verdict.
    return replace(
        read_launch(pair, raw.side, suite, run, preempted=_preempted(raw)),
        variant=variant,
        is_disturbed=raw.facts.get("disturbed") is True,
        is_kept_in_place=raw.facts.get("kept_in_place") is True,
        is_built_again=raw.facts.get("built_again") is True,
        seconds=float(raw.facts.get("seconds", 0.0)),
        machine=str(raw.facts.get("machine", "")),
    )


def _preempted(raw: RawLaunch) -> Preempted | None:
    """Read how a launch waited and what others used of its CPUs; None if one of them was not counted."""
    waits, foreign, steal = (raw.facts.get(key) for key in ("voluntary_switches", "foreign", "steal"))
    if waits is None or foreign is None or steal is None:
        return None
    return Preempted(int(waits), min(1.0, float(foreign) + float(steal)))


def join_groups(launches: Iterable[Launch]) -> tuple[Launch, ...]:
    """Join the launches of a pair that are groups of one suite and side."""
    joined: dict[tuple[str, Side], Launch] = {}
    for launch in launches:
        known = joined.get((launch.suite, launch.side))
        joined[launch.suite, launch.side] = launch if known is None else known.joined(launch)
    return tuple(joined.values())
