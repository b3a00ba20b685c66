from __future__ import annotations

import json
import math

import pytest

from service.domain.inference.reasons import Reason, ReasonKind, has_kind
from service.domain.wording.reasons import sentence, text_of

BLIND_CLOCK = "which sees neither other threads nor sleeping, nor waiting for locks or I/O"
SENTENCES = [
    (ReasonKind.NO_PAIR, (), "no complete pair"),
    (ReasonKind.TOO_FEW_PAIRS, (1, 5), "one pair cannot tell a change from noise; at least 5 are needed"),
    (ReasonKind.TOO_FEW_PAIRS, (4, 5), "4 pairs cannot tell a change from noise; at least 5 are needed"),
    (ReasonKind.NO_RATIO, (), "a measured value is zero or negative, so there is no ratio to judge"),
    (ReasonKind.WIDE_INTERVAL, (0.05, 1.035), "pairs spread by 5 %, the interval is ±3.5 % wide"),
    (ReasonKind.WIDE_INTERVAL, (0.0, 1.0), "pairs spread by 0 %, the interval is ±0.00 % wide"),
    (ReasonKind.MORE_PAIRS, (48, 480.0), "about 48 more pairs (8 min) would decide it"),
    (ReasonKind.MORE_PAIRS, (1.0,), "about 1 more pair would decide it"),
    (ReasonKind.NO_NUMBER_OF_PAIRS, (), "no reasonable number of pairs would decide it"),
    (ReasonKind.NOT_IN_PATCH, ("CPU time",), "reports no CPU time any more"),
    (ReasonKind.NOT_IN_BASE, ("CPU time",), "reports no CPU time in the parent"),
    (
        ReasonKind.SOMETIMES_IN_BASE,
        ("hits", 8, 16),
        "the parent reports hits in 8 of 16 launches, the patch in none",
    ),
    (ReasonKind.UNUSABLE, ("patch", "it is 0"), "what the patch reports cannot be used: it is 0"),
    (ReasonKind.FAILS, ("no space",), "no space"),
    (ReasonKind.FAILS_IN_BASE, ("no file",), "fails in the parent: no file"),
    (ReasonKind.FAILS_SOMETIMES, ("patch", 2, 16, "x"), "fails in 2 of 16 launches of the patch: x"),
    (ReasonKind.FAILS_SOMETIMES, ("base", 2, 16, "x"), "fails in 2 of 16 launches of the parent: x"),
    (ReasonKind.JUDGED_BY, ("CPU time",), "judged by CPU time"),
    (
        ReasonKind.WORK_CHANGED,
        ("items_per_second", 2.0),
        "items per iteration changed by ×2: time per item is compared",
    ),
    (
        ReasonKind.WORK_CHANGED,
        ("bytes_per_second", 0.5),
        "bytes per iteration changed by −50.0 %: time per byte is compared",
    ),
    (ReasonKind.REAL_TIME_LONGER, (3.31, 0), f"real time is 3.31 times the CPU time, {BLIND_CLOCK}"),
    (
        ReasonKind.REAL_TIME_MOVED,
        (1.06, 0),
        f"real time moved by +6.0 % against the CPU time, {BLIND_CLOCK}",
    ),
    (
        ReasonKind.REAL_TIME_MOVED,
        (1.06, 1),
        (
            "real time moved by +6.0 % against the CPU time, which sees all threads of the process, but no "
            "sleeping and no waiting for locks or I/O"
        ),
    ),
    (ReasonKind.LAYOUT_NOT_CHECKED, (), "layout: not checked by relinking"),
    (
        ReasonKind.LAYOUT_CONFIRMED,
        (1.031, 1.02, 1.041),
        "layout: slower on three relinks too (+3.1 %, +2.0 %, +4.1 %)",
    ),
    (
        ReasonKind.LAYOUT_REFUTED,
        (1, 1.05, 1.0, 0.95),
        "layout: +5.0 %, ±0.00 %, −5.0 % on three relinks, slower in 1 of them",
    ),
    (
        ReasonKind.LAYOUT_POSSIBLE,
        (),
        "may come from where the linker put the code; only slow-downs are checked",
    ),
    (ReasonKind.LAYOUT_AS_TEXT, ("layout: as before",), "layout: as before"),
    (ReasonKind.SAME_PROGRAM, (), "the same program on both sides"),
    (ReasonKind.SAME_PROGRAM, (1.012,), "the same program on both sides; measured +1.2 %"),
    (ReasonKind.LISTED_ONCE, (), "listed only once"),
    (
        ReasonKind.ONE_LAUNCH,
        (),
        "one launch a side cannot tell a change from noise; give a dozen pairs or more",
    ),
    (ReasonKind.ONE_COUNT, (), "one launch a side cannot show that a counter repeats"),
    (
        ReasonKind.BLOCKS,
        (),
        (
            "all launches of one side are dated before all of the other, so that a change looks like drift "
            "of the machine; launch the two programs in turn"
        ),
    ),
    (ReasonKind.BASE_ONLY, (), "only the base files have it, which may be another choice of benchmarks"),
    (ReasonKind.BLIND_COUNTS, (), "instructions do not see contention or cache misses"),
    (ReasonKind.NO_INSTRUCTIONS, (), "a side executes no instruction, so there is no ratio to judge"),
    (ReasonKind.NOT_COUNTED, (), "not counted"),
    (ReasonKind.NOT_COUNTED, ("it runs several threads",), "not counted: it runs several threads"),
    (
        ReasonKind.NOT_DETERMINISTIC,
        (),
        "not deterministic: two launches of one program did not execute the same",
    ),
    (ReasonKind.SUSPENDED, (3, 50), "suspended: 3 false alarms in its last 50 A/A comparisons"),
    (ReasonKind.ON_PROBATION, (16, 40, 1, 3), "on probation: 16 of 40 A/A pairs in 1 of 3 sessions"),
    (ReasonKind.NO_EVIDENCE, (), "not measurable: no pairs"),
    (ReasonKind.NOISY, (0.208,), "not measurable: pairs spread by 20.8 %"),
    (ReasonKind.FAR_OFF, (0.125,), "not measurable: 12.5 % of the pairs are off by more than 3 %"),
]


@pytest.mark.parametrize(("kind", "facts", "expected"), SENTENCES)
def test_each_kind_reads_as_recorded(kind: ReasonKind, facts: tuple[float | str, ...], expected: str) -> None:
    assert sentence(Reason(kind, facts)) == expected


def test_every_kind_has_a_sentence() -> None:
    assert {kind for kind, _, _ in SENTENCES} == set(ReasonKind)


def test_several_reasons_stand_on_one_line_and_a_withheld_vote_is_named() -> None:
    reasons = (Reason(ReasonKind.JUDGED_BY, ("CPU time",)), Reason(ReasonKind.SUSPENDED, (3, 50)))

    assert text_of(reasons) == (
        "judged by CPU time; no vote: suspended: 3 false alarms in its last 50 A/A comparisons"
    )
    assert text_of(()) == ""


@pytest.mark.parametrize(("kind", "facts"), [(kind, facts) for kind, facts, _ in SENTENCES])
def test_reasons_survive_their_record(kind: ReasonKind, facts: tuple[float | str, ...]) -> None:
    reason = Reason(kind, facts)

    assert Reason.from_mapping(json.loads(json.dumps(reason.to_mapping()))) == reason


def test_a_number_that_json_cannot_hold_still_makes_a_sentence() -> None:
    stored = {"kind": "real time longer", "facts": [None, 0]}
    reason = Reason.from_mapping(stored)

    assert math.isnan(float(reason.facts[0]))
    assert sentence(reason).startswith("real time is nan times")


def test_a_kind_of_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="unheard of"):
        Reason.from_mapping({"kind": "unheard of", "facts": []})


def test_a_kind_is_found_among_others() -> None:
    reasons = (Reason(ReasonKind.NO_PAIR), Reason(ReasonKind.BLOCKS))

    assert has_kind(reasons, {ReasonKind.BLOCKS, ReasonKind.FAILS})
    assert not has_kind(reasons, {ReasonKind.FAILS})
