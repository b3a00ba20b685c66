"""Values in JSON columns: what is stored is read as it was, also what an older version stored."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from service.adapters.postgres.persisted import (
    claims_from,
    listings_from,
    mappings_of,
    mappings_of_claims,
    mappings_of_listings,
    reasons_from,
    slowdowns_from,
)
from service.adapters.postgres.storable import clean_json
from service.domain.claims.values import Claim
from service.domain.measuring.listing import Listing
from service.domain.measuring.metric import Better
from service.domain.runs.slowdown import Slowdown
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.wording.reasons import sentence
from tests.unit.domain.wording.test_reasons import SENTENCES


def as_json(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return json.loads(json.dumps(clean_json(value), allow_nan=False))


SAMPLE = Slowdown("BM_a/64", "cpu_time", Better.LOWER, 0.1 + 0.2, 0.1, 0.5, "perf", "executor")


@pytest.mark.parametrize("slowdown", [SAMPLE, replace(SAMPLE, most=math.inf, better=Better.HIGHER)])
def test_stored_values_are_read_unchanged(slowdown: Slowdown) -> None:
    assert slowdowns_from(as_json(mappings_of([slowdown]))) == (slowdown,)


def test_a_slow_down_that_a_previous_version_stored_has_no_job() -> None:
    before = {key: value for key, value in asdict(SAMPLE).items() if key not in {"job", "suite"}}

    assert slowdowns_from([before]) == (replace(SAMPLE, job="", suite=""),)


def test_values_that_a_previous_version_did_not_store_stay_unknown() -> None:
    assert (mappings_of(None), slowdowns_from(None)) == (None, None)


def test_a_slow_down_is_stored_as_previous_versions_read_it() -> None:
    assert as_json(mappings_of([replace(SAMPLE, most=math.inf)])) == [
        {
            "job": "perf",
            "suite": "executor",
            "benchmark": "BM_a/64",
            "metric": "cpu_time",
            "better": "lower",
            "worsening": 0.1 + 0.2,
            "least": 0.1,
            "most": None,
        }
    ]


@pytest.mark.parametrize(("kind", "facts"), [(kind, facts) for kind, facts, _ in SENTENCES])
def test_reasons_survive_their_record(kind: ReasonKind, facts: tuple[float | str, ...]) -> None:
    (found,) = reasons_from(json.loads(json.dumps(mappings_of([Reason(kind, facts)]))))

    assert found == Reason(kind, facts)
    assert list(map(type, found.facts)) == list(map(type, facts))


def test_a_number_that_json_cannot_hold_still_makes_a_sentence() -> None:
    (reason,) = reasons_from([{"kind": "real time longer", "facts": [None, 0]}])

    assert math.isnan(float(reason.facts[0]))
    assert sentence(reason).startswith("real time is nan times")


def test_a_kind_of_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="unheard of"):
        reasons_from([{"kind": "unheard of", "facts": []}])


@pytest.mark.parametrize("rounding", [0.0, 0.1 + 0.2, math.inf])
def test_the_rounding_of_a_claim_is_read_as_it_was_also_where_no_digit_is_known(rounding: float) -> None:
    claim = Claim(3, "BM_a", "cpu_time", 3.0, 0.0, 0.0, "ns", rounding=rounding)
    assert claims_from(as_json(mappings_of_claims([claim]))) == (claim,)


def test_a_claim_that_a_previous_version_stored_has_no_rounding() -> None:
    before = {"line": 3, "benchmark": "BM_a", "metric": "cpu_time", "before": 3.0, "after": 2.0, "ratio": 0.5}
    assert claims_from([before]) == (Claim(3, "BM_a", "cpu_time", 3.0, 2.0, 0.5),)


PLAIN = Listing("executor", ("BM_a",), ("BM_b", "BM_a"))
STORED = {"suite": "executor", "base": ["BM_a"], "patch": ["BM_b", "BM_a"], "same_program": False, "long": []}
EVERYTHING = Listing(
    *("executor", ("BM_a",), ("BM_a",)),
    is_same_program=True,
    long=frozenset({"BM_b", "BM_a"}),
    renamed={"BM_a": "BM_old"},
    too_short=3,
    not_chosen=("BM_c",),
    set_up=1.5,
    multiple=2,
)
STORED_EVERYTHING = {
    "suite": "executor",
    "base": ["BM_a"],
    "patch": ["BM_a"],
    "same_program": True,
    "long": ["BM_a", "BM_b"],
    "renamed": {"BM_a": "BM_old"},
    "too_short": 3,
    "not_chosen": ["BM_c"],
    "set_up": 1.5,
    "multiple": 2,
}


@pytest.mark.parametrize(("listing", "stored"), [(PLAIN, STORED), (EVERYTHING, STORED_EVERYTHING)])
def test_a_listing_is_stored_as_previous_versions_read_it(listing: Listing, stored: Any) -> None:  # noqa: ANN401
    assert as_json(mappings_of_listings([listing])) == [stored]
    assert listings_from([stored]) == (listing,)


def test_a_listing_that_an_old_worker_stored_is_of_different_programs() -> None:
    assert listings_from([{"suite": "old", "base": ["a"], "patch": ["b"]}]) == (
        Listing("old", ("a",), ("b",)),
    )
