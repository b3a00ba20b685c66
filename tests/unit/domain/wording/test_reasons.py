from __future__ import annotations

import math

import pytest

from service.domain.verdict.inference.reasons import Reason, ReasonKind, has_kind
from service.domain.wording.reasons import sentence, text_of

COMPARED = (
    "so it is compared, too; CPU time counts neither other threads nor sleeping nor waiting for locks or I/O"
)
SENTENCES = [
    (ReasonKind.NO_PAIR, (), "no pair has a result on both sides"),
    (
        ReasonKind.TOO_FEW_PAIRS,
        (1, 5),
        "1 pair is too few to tell a change from noise; at least 5 are needed",
    ),
    (
        ReasonKind.TOO_FEW_PAIRS,
        (4, 5),
        "4 pairs are too few to tell a change from noise; at least 5 are needed",
    ),
    (ReasonKind.NO_RATIO, (), "a measured value is zero or negative, so there is no ratio to compare"),
    (
        ReasonKind.WIDE_INTERVAL,
        (0.05, 1.035),
        "single pairs vary by 5 %, so the result is only known to ±3.5 %",
    ),
    (
        ReasonKind.WIDE_INTERVAL,
        (0.0, 1.0),
        "single pairs vary by 0 %, so the result is only known to ±0.00 %",
    ),
    (ReasonKind.MORE_PAIRS, (48, 480.0), "about 48 more pairs (8 min) would decide it"),
    (
        ReasonKind.MORE_PAIRS,
        (918, 1440.0, 600.0),
        "about 918 more pairs (24 min; machine_time is 10 min) would decide it",
    ),
    (
        ReasonKind.MORE_PAIRS,
        (48, 480.0, 0.0, 0.01149),
        "about 48 more pairs (8 min) would decide it, or a machine on which pairs vary by at most 1.1 %",
    ),
    (
        ReasonKind.NO_NUMBER_OF_PAIRS,
        (0.004,),
        "even 1000 pairs would not decide it, only a machine on which pairs vary by at most 0.4 %",
    ),
    (ReasonKind.HARDLY_SLOWER, (), "measuring ended because a slow-down that votes −1 is improbable"),
    (ReasonKind.OWN_TIME, (80.0, 120.0), "it took 80 s, and machine_time_of gives it 2 min"),
    (ReasonKind.MORE_PAIRS, (1.0,), "about 1 more pair would decide it"),
    (ReasonKind.NO_NUMBER_OF_PAIRS, (), "even 1000 pairs would not decide it"),
    (ReasonKind.NOT_IN_PATCH, ("CPU time",), "the patch no longer reports CPU time"),
    (ReasonKind.NOT_IN_BASE, ("CPU time",), "the parent does not report CPU time"),
    (
        ReasonKind.SOMETIMES_IN_BASE,
        ("hits", 8, 16),
        "the parent reports hits in 8 of 16 launches, the patch in none",
    ),
    (ReasonKind.UNUSABLE, ("patch", "it is 0"), "the result of the patch is unusable: it is 0"),
    (ReasonKind.UNUSABLE, ("base", "it is 0"), "the result of the parent is unusable: it is 0"),
    (ReasonKind.FAILS, ("no space",), "no space"),
    (ReasonKind.FAILS_IN_BASE, ("no file",), "it fails in the parent: no file"),
    (ReasonKind.FAILS_SOMETIMES, ("patch", 2, 16, "x"), "it fails in 2 of 16 launches of the patch: x"),
    (ReasonKind.FAILS_SOMETIMES, ("base", 2, 16, "x"), "it fails in 2 of 16 launches of the parent: x"),
    (
        ReasonKind.ONLY_PATCH_FAILS,
        (2, 16, "no space"),
        "only the patch gives no result in 2 of 16 pairs, so there is no +1: no space",
    ),
    (
        ReasonKind.ONLY_PATCH_FAILS,
        (2, 16),
        "only the patch gives no result in 2 of 16 pairs, so there is no +1",
    ),
    (
        ReasonKind.ONLY_PATCH_SCATTERS,
        (28.4,),
        "the patch's own values vary 28 times as much as the parent's, so there is no +1",
    ),
    (
        ReasonKind.ONLY_PATCH_SCATTERS,
        (math.inf,),
        "the patch's own values vary and the parent's do not, so there is no +1",
    ),
    (
        ReasonKind.ONLY_PATCH_ZERO,
        (2, 16),
        "the patch reports zero or less in 2 of 16 pairs, and the parent in none, so there is no +1",
    ),
    (ReasonKind.FAILS_ON_BOTH, ("no file",), "it fails on both sides: no file"),
    (ReasonKind.FAILS_ON_BOTH, (), "neither side reports a result"),
    (
        ReasonKind.SECOND_LIFTS,
        ("same", 24, 1.001),
        "lifted by the second opinion: same, +0.10 %, 24 pairs",
    ),
    (ReasonKind.SECOND_STANDS, ("failing", 0), "the second opinion does not lift it: failing, 0 pairs"),
    (ReasonKind.JUDGED_BY, ("CPU time",), "the verdict is that of CPU time"),
    (
        ReasonKind.WORK_CHANGED,
        ("items_per_second", 2.0),
        "items per iteration changed by ×2, so the time per item is compared",
    ),
    (
        ReasonKind.WORK_CHANGED,
        ("bytes_per_second", 0.5),
        "bytes per iteration changed by −50.0 %, so the time per byte is compared",
    ),
    (ReasonKind.REAL_TIME_LONGER, (3.31, 0), f"real time is 3.31 times the CPU time, {COMPARED}"),
    (
        ReasonKind.REAL_TIME_MOVED,
        (1.06, 0),
        f"real time changed by +6.0 % relative to CPU time, {COMPARED}",
    ),
    (
        ReasonKind.REAL_TIME_MOVED,
        (1.06, 1),
        (
            "real time changed by +6.0 % relative to CPU time, so it is compared, too; CPU time counts all "
            "threads of the process, but neither sleeping nor waiting for locks or I/O"
        ),
    ),
    (
        ReasonKind.LAYOUT_NOT_CHECKED,
        (),
        (
            "the slow-down could not be checked on relinked programs, so there is neither a −1 nor a +1; "
            "if the link cannot be varied, set `layout: off`"
        ),
    ),
    (
        ReasonKind.LAYOUT_CONFIRMED,
        (1.031, 1.02, 1.041),
        "confirmed: +3.1 % in the median of 3 relinked programs (+2.0 % to +4.1 %)",
    ),
    (
        ReasonKind.LAYOUT_REFUTED,
        (1, 1.05, 1.0, 0.95),
        (
            "not confirmed: slower on 1 of 3 relinked programs (−5.0 % to +5.0 %), "
            "so code placement may explain it"
        ),
    ),
    (
        ReasonKind.LAYOUT_BUILT_AGAIN,
        (0, 1.0, 0.99, 1.01, 1.0),
        (
            "not confirmed: slower on 0 of 4 relinked programs (−1.0 % to +1.0 %), but the build commands "
            "made these anew, perhaps of other code, so there is neither a −1 nor a +1; `layout: off` lets "
            "it vote"
        ),
    ),
    (
        ReasonKind.LAYOUT_REFUTED_GAIN,
        (2, 0.95, 0.94, 1.04, 1.08),
        (
            "not confirmed: faster on 2 of 4 relinked programs (−6.0 % to +8.0 %), "
            "so code placement may explain it"
        ),
    ),
    (
        ReasonKind.LAYOUT_POSSIBLE,
        (),
        "code placement may explain it; it was not checked on relinked programs",
    ),
    (ReasonKind.LAYOUT_AS_TEXT, ("layout: as before",), "layout: as before"),
    (ReasonKind.SAME_PROGRAM, (), "the program is identical on both sides"),
    (ReasonKind.SAME_PROGRAM, (1.012,), "the program is identical on both sides; measured +1.2 %"),
    (ReasonKind.LISTED_ONCE, (), "only one side lists it"),
    (
        ReasonKind.ONE_LAUNCH,
        (),
        "one launch per side cannot tell a change from noise; give 12 or more files per side",
    ),
    (
        ReasonKind.ONE_COUNT,
        (),
        "one launch per side cannot show that a counter repeats; give several files per side",
    ),
    (
        ReasonKind.BLOCKS,
        (),
        (
            "by the dates in the files, one side ran completely before the other, so drift of the machine "
            "looks like a change; run the two programs in turn"
        ),
    ),
    (ReasonKind.BASE_ONLY, (), "only the base files contain it; perhaps the patch ran with another filter"),
    (ReasonKind.BLIND_COUNTS, (), "instruction counts show neither contention nor cache misses"),
    (ReasonKind.NO_INSTRUCTIONS, (), "one side executes no instructions, so there is no ratio to compare"),
    (ReasonKind.NOT_COUNTED, (), "not counted"),
    (ReasonKind.NOT_COUNTED, ("it runs several threads",), "not counted: it runs several threads"),
    (
        ReasonKind.NOT_DETERMINISTIC,
        (),
        "not deterministic: two launches of one program executed different numbers of instructions",
    ),
    (ReasonKind.ONLY_PATCH_NOT_COUNTED, (), "the parent can be counted, the patch cannot"),
    (
        ReasonKind.CONTROL,
        (1.001, 0.997, 1.004, 14),
        "the parent against itself: +0.10 % [−0.30, +0.40]",
    ),
    (
        ReasonKind.OWN_DIFFERENCE,
        (1.05, 1.048, 1.052, 14),
        "the parent against itself: +5.0 % [+4.8, +5.2], 14 pairs, so the machine may explain it",
    ),
    (
        ReasonKind.OTHER_CONTROL,
        (),
        "the parent differs from itself at another benchmark, so the machine may explain it",
    ),
    (
        ReasonKind.OPEN_CONTROL,
        (1.003, 0.97, 1.05, 28),
        "the parent against itself: +0.30 % [−3.0, +5.0], too wide to exclude the machine",
    ),
    (
        ReasonKind.SUSPENDED,
        (1, 1),
        "suspended: 1 false alarm in the only comparison of a program with itself",
    ),
    (
        ReasonKind.SUSPENDED,
        (3, 50),
        "suspended: 3 false alarms in the last 50 comparisons of a program with itself",
    ),
    (
        ReasonKind.ON_PROBATION,
        (16, 40, 1, 3),
        (
            "on probation: this machine has too little history for it "
            "(16 of 40 pairs of a program with itself, 1 of 3 sessions)"
        ),
    ),
    (
        ReasonKind.ON_PROBATION,
        (0, 40, 0, 3),
        (
            "on probation: this machine has no history for it "
            "(0 of 40 pairs of a program with itself, 0 of 3 sessions)"
        ),
    ),
    (ReasonKind.NO_EVIDENCE, (), "not measurable: no pairs of a program with itself"),
    (
        ReasonKind.NOISY,
        (0.208,),
        (
            "not measurable: pairs of a program with itself vary by 20.8 % (limit 1.5 %); "
            "`benchgate doctor` reports sources of noise"
        ),
    ),
    (
        ReasonKind.FAR_OFF,
        (0.125,),
        (
            "not measurable: 12.5 % of the pairs of a program with itself differ by more than 3 % "
            "(limit 10 %); `benchgate doctor` reports sources of noise"
        ),
    ),
]


@pytest.mark.parametrize(("kind", "facts", "expected"), SENTENCES)
def test_each_kind_reads_as_recorded(kind: ReasonKind, facts: tuple[float | str, ...], expected: str) -> None:
    assert sentence(Reason(kind, facts)) == expected


def test_every_kind_has_a_sentence() -> None:
    assert {kind for kind, _, _ in SENTENCES} == set(ReasonKind)


def test_several_reasons_stand_on_one_line_and_a_withheld_vote_is_named() -> None:
    reasons = (Reason(ReasonKind.JUDGED_BY, ("CPU time",)), Reason(ReasonKind.SUSPENDED, (3, 50)))

    assert text_of(reasons) == (
        "the verdict is that of CPU time; "
        "no vote: suspended: 3 false alarms in the last 50 comparisons of a program with itself"
    )
    assert text_of(()) == ""


def test_a_kind_is_found_among_others() -> None:
    reasons = (Reason(ReasonKind.NO_PAIR), Reason(ReasonKind.BLOCKS))

    assert has_kind(reasons, {ReasonKind.BLOCKS, ReasonKind.FAILS})
    assert not has_kind(reasons, {ReasonKind.FAILS})
