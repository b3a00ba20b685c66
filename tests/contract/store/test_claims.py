"""Store contract: claims of commit messages, and what answers them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from structlog.testing import capture_logs

from service.domain.claims.answers import MeasuredRow
from service.domain.claims.left_out import pack_left_out
from service.domain.claims.values import Claim
from service.domain.values.identity import RunKind, SeriesKey
from service.domain.verdict.explanation.explanation import pack
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.support.store_samples import compared, named, queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite

REVISION = ("review", "kv_engine", "1" * 40)
CLAIM = Claim(
    *(3, "BM_\ufffdget<é>/64", "real_time", 12.5, 10.0, 0.8, "us"),
    is_other_variant=True,
    rounding=0.0625,
)
NO_RATIO = Claim(4, "BM_put", "PeakBytes", 0.0, 7.0, None, rounding=math.inf)
LEFT_OUT = MeasuredRow("", "s", "BM_get", "real_time", Verdict.UNDECIDED, 8, 0.8, 0.7, 0.9, 0.01)
CONFIG = {
    "kind": "benchmark",
    "pool": "perf",
    "suites": [{"name": "s", "program": "s"}],
    "policy": {"same_within": "2%"},
}


class TestClaims:
    def test_claims_are_those_of_their_revision(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.claims.keep(*REVISION, [CLAIM, NO_RATIO])
        with store.transaction() as tx:
            assert tuple(tx.claims.of(*REVISION)) == (CLAIM, NO_RATIO)
            for place in range(len(REVISION)):
                other = [*REVISION]
                other[place] += "x"
                assert tuple(tx.claims.of(*other)) == ()

    def test_the_first_claims_of_a_revision_stay(self, store: Store) -> None:
        for claim in (CLAIM, NO_RATIO):
            with store.transaction() as tx:
                tx.claims.keep(*REVISION, [claim])
        with store.transaction() as tx:
            assert tuple(tx.claims.of(*REVISION)) == (CLAIM,)

    def test_results_are_found_in_the_order_of_jobs_with_what_reasons_tell(self, store: Store) -> None:
        ids = queue(store, named("b", spec={"config": CONFIG}), named("a"), named("not-compared"))
        with store.transaction() as tx:
            builds = [tx.builds.lock(each) for each in ids]
            keys = [
                SeriesKey("review", "kv_engine", "master", "perf", job, "s", name, metric)
                for job, name, metric in (
                    ("b", "BM_get", "real_time"),
                    ("b", "BM_put", "cpu_time"),
                    ("b", "BM_other", "cpu_time"),
                    ("a", "BM_get", "real_time"),
                )
            ]
            rows = [
                compared(keys[0], Verdict.FASTER, Reason(ReasonKind.WORK_CHANGED, ("items_per_second", 2.0))),
                compared(keys[1], Verdict.SAME, Reason(ReasonKind.SAME_PROGRAM, (math.nan,)), position=1),
                compared(keys[2], Verdict.SAME, position=2),
                compared(keys[3], Verdict.SLOWER),
            ]
            for build, own in zip(builds, (slice(3), slice(3, 4)), strict=False):
                series = dict.fromkeys(keys[own], ("s", "lower"))
                tx.measurements.store_results(build, RunKind.CHECK, series, [], rows[own])
            run_id = tx.external.runs_with(ids[0])[0]
            found = tx.claims.measured(run_id, ["BM_put", "BM_get"])
            assert tuple(tx.claims.measured(run_id + 1, ["BM_get"])) == ()
        numbers = (8, 1.0, 0.99, 1.01)
        work: Mapping[str, Any] = {"per": "items_per_second"}
        same: Mapping[str, Any] = {"is_same_program": True}
        assert list(found) == [
            MeasuredRow("b", "s", "BM_get", "real_time", Verdict.FASTER, *numbers, **work, same_within=0.02),
            MeasuredRow("b", "s", "BM_put", "cpu_time", Verdict.SAME, *numbers, **same, same_within=0.02),
            MeasuredRow("a", "s", "BM_get", "real_time", Verdict.SLOWER, *numbers),
        ]

    def test_a_renamed_benchmark_is_found_by_its_old_name(self, site: StoreSite, store: Store) -> None:
        """Only under the new name that its own job gives it, also if it is measured because it is claimed."""
        renamed = {"BM_old": "BM_new", "BM_retired": "BM_get"}
        renaming = {**CONFIG, "suites": [{"name": "s", "program": "s", "renamed": renamed}]}
        ids = queue(
            store,
            named("a", spec={"config": CONFIG}),
            named("b", spec={"config": renaming, "claimed_names": ["BM_retired"]}),
        )
        site.explain(ids[1], pack([], pack_left_out([LEFT_OUT])))
        with store.transaction() as tx:
            for build, job, name in zip(ids, "ab", ("BM_old/8", "BM_new/8"), strict=True):
                series = SeriesKey("review", "kv_engine", "master", "perf", job, "s", name, "cpu_time")
                keys, row = {series: ("s", "lower")}, compared(series, Verdict.SAME)
                tx.measurements.store_results(tx.builds.lock(build), RunKind.CHECK, keys, [], [row])
            [run_id] = tx.external.runs_with(ids[0])
            found = tx.claims.measured(run_id, ["BM_old/8", "BM_retired"])
            assert [(each.job, each.benchmark, each.renamed) for each in found] == [
                ("a", "BM_old/8", {}),
                ("b", "BM_new/8", renamed),
                ("b", "BM_get", renamed),
            ]

    def test_the_names_that_a_run_compared_are_in_the_order_of_its_jobs(self, store: Store) -> None:
        ids = queue(store, named("b"), named("a"), named("not-compared"))
        names = {"b": ("BM_z", "BM_b"), "a": ("BM_a", "BM_b", "BM_z")}
        with store.transaction() as tx:
            for build, (job, own) in zip(ids, names.items(), strict=False):
                keys = [
                    SeriesKey("review", "kv_engine", "master", "perf", job, "s", name, metric)
                    for name in own
                    for metric in ("cpu_time", "real_time")
                ]
                rows = [compared(key, Verdict.SAME, position=place) for place, key in enumerate(keys)]
                series = dict.fromkeys(keys, ("s", "lower"))
                tx.measurements.store_results(tx.builds.lock(build), RunKind.CHECK, series, [], rows)
            [run_id] = tx.external.runs_with(ids[0])
            assert list(tx.claims.compared(run_id)) == ["BM_z", "BM_b", "BM_a"]
            assert list(tx.claims.compared(run_id + 1)) == []

    def test_what_was_measured_only_because_it_is_claimed_comes_last(
        self, site: StoreSite, store: Store
    ) -> None:
        """The build was asked for it, and its rows can be read."""
        asked, other = {"config": CONFIG, "claimed_names": ["BM_get"]}, replace(LEFT_OUT, benchmark="BM_put")
        specs = {"a": asked, "b": asked, "c": {"config": CONFIG}, "d": asked}
        ids = queue(store, *(named(job, spec=spec) for job, spec in specs.items()))
        beside = pack_left_out([LEFT_OUT, other])
        for build, member in zip(ids, (beside, beside[:-9], beside, b""), strict=True):
            site.explain(build, pack([], member))
        key = SeriesKey("review", "kv_engine", "master", "perf", "d", "s", "BM_put", "cpu_time")
        with store.transaction() as tx:
            series, row = {key: ("s", "lower")}, compared(key, Verdict.SAME)
            tx.measurements.store_results(tx.builds.lock(ids[-1]), RunKind.CHECK, series, [], [row])
            [run_id] = tx.external.runs_with(ids[0])
            first, second = tx.claims.measured(run_id, ["BM_put", "BM_get", "BM_none"])
        assert (first.job, first.benchmark) == ("d", "BM_put")
        assert second == replace(LEFT_OUT, job="a", same_within=0.02)

    def test_an_explanation_is_not_read_if_the_claimed_benchmarks_were_compared(
        self, site: StoreSite, store: Store
    ) -> None:
        """It is large. Here it cannot be read, which would be logged."""
        config = {**CONFIG, "suites": [{"name": "s", "program": "s", "renamed": {"BM_old": "BM_put"}}]}
        names = ["BM_put_mean", "BM_put", "BM_old"]
        [build] = queue(store, named("a", spec={"config": config, "claimed_names": names}))
        site.explain(build, b"damaged")
        key = SeriesKey("review", "kv_engine", "master", "perf", "a", "s", "BM_put", "cpu_time")
        with store.transaction() as tx, capture_logs() as logs:
            series, row = {key: ("s", "lower")}, compared(key, Verdict.SAME)
            tx.measurements.store_results(tx.builds.lock(build), RunKind.CHECK, series, [], [row])
            [run_id] = tx.external.runs_with(build)
            [found] = tx.claims.measured(run_id, ["BM_put", "BM_of_another_run"])
        assert (found.benchmark, logs) == ("BM_put", [])
