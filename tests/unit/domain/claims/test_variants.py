"""The variant of a commit message that a patch set is, by its subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.claims.answers import Answer, MeasuredRow, Obstacle, answers
from service.domain.claims.find import claims_to_keep, find_claims
from service.domain.verdict.inference.verdict import Verdict

SEED = Path(__file__).parents[3] / "samples" / "claims" / "kv_engine-3691a5f0b846.txt"
CORE, CACHE = "Per core:", "Per last-level cache:"
BATCHES = ["Batches of 16:", "Batches of 32:"]


def table(heading: str, *names: str) -> str:
    return "\n".join((heading, *(f"{name}  20 ns  20 ns  7" for name in names), "", ""))


def shown(subject: str, *variants: str) -> list[str]:
    """Return the labels of the tables that may show the patch set."""
    tables = (table(each, "BM_A") for each in ("Before:", *variants))
    claims = find_claims("".join((f"{subject}\n\n", *tables))).claims
    return list(dict.fromkeys(each.after_label for each in claims if not each.is_other_variant))


@pytest.mark.parametrize(
    ("subject", "variants", "expected"),
    [
        ("hash_table: Keep statistics per-core", [CORE, CACHE], CORE),
        ("Keep statistics per last-level cache", [CORE, CACHE], CACHE),
        ("Keep statistics per LLC", [CORE, CACHE], CACHE),
        ("Keep statistics per last level cache", [CORE, "Per LLC:"], "Per LLC:"),
        ("Sort in CHUNKS", ["Results using chunks (24):", "At once:"], "Results using chunks (24):"),
        ("Read batches of 32", BATCHES, BATCHES[1]),
        ("Keep statistics per last-level cache", [CORE], CORE),
    ],
)
def test_the_subject_names_the_variant(subject: str, variants: list[str], expected: str) -> None:
    assert shown(subject, *variants) == [expected]


@pytest.mark.parametrize(
    ("subject", "variants"),
    [
        ("Keep statistics in stripes", [CORE, CACHE]),
        ("Move statistics per core to the last-level cache", [CORE, CACHE]),
        ("Remove statistics per core", [CORE, CACHE]),
        ("Don't keep statistics per core", [CORE, CACHE]),
        ("Read batches of 64", BATCHES),
        ("Read 16", ["16:", "32:"]),
        ("Use the new one", ["The new, 1:", "The new, 2:"]),
        (f"Keep statistics per core {'x' * 120}", [CORE, CACHE]),
    ],
)
def test_if_the_subject_does_not_name_one_variant_none_is_marked(subject: str, variants: list[str]) -> None:
    assert shown(subject, *variants) == variants


def test_another_variant_is_marked_with_all_its_benchmarks_and_unrelated_tables_are_not() -> None:
    names = ("BM_A", "BM_B")
    tables = (("Before:", *names, "BM_C"), (CORE, *names), (CACHE, "BM_A"), ("Other:", "BM_C"))
    claims = find_claims("Keep statistics per LLC\n\n" + "".join(table(*each) for each in tables)).claims
    marked = {(each.after_label, each.benchmark) for each in claims if each.is_other_variant}
    assert marked == {(CORE, name) for name in names}


def test_the_named_variant_of_a_public_message_is_answered() -> None:
    text = SEED.read_text(encoding="utf-8")
    claims = [each for each in claims_to_keep(text) if each.metric == "cpu_time"]
    ratios = {each.benchmark: each.ratio for each in claims[:4]}
    rows = [
        MeasuredRow("perf", "s", name, "cpu_time", Verdict.FASTER, 20, ratio, ratio, ratio)
        for name, ratio in ratios.items()
    ]
    found = answers(claims, rows)
    assert [each.answer for each in found] == [Answer.CONFIRMED] * 4 + [Answer.NOT_MEASURABLE] * 4
    assert [each.obstacle for each in found] == [""] * 4 + [Obstacle.OTHER_VARIANT] * 4
