"""Regressions in memory."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.measuring.metric import Better
from service.domain.review.change import PatchSetKind
from service.domain.runs.states import UNFINISHED, RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.backfill import first_run_with
from service.domain.trunk.narrowing import MOST_CUT_SHORT
from service.domain.trunk.notice import Channel, NoticeState, Recipient
from service.domain.trunk.regression import (
    Checked,
    RegressionState,
    Weight,
    is_news,
    state_with,
    weight_of,
    weights_with,
)
from service.domain.trunk.spread import AGAIN, KnownStep, SlowerAnchor
from service.domain.trunk.spread import WITHIN_DAYS as SPREAD_DAYS
from service.domain.trunk.undecided import LEAST, MOST_TRIES, WITHIN_DAYS, UndecidedResult
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.regressions import UNCERTAIN
from service.ports.trunk import (
    JUDGED,
    Branches,
    DueNotice,
    DueNotices,
    MeasuredAnchors,
    OpenRange,
    RangeLink,
    Regressions,
    SlowerResult,
    SlowerResults,
    SlowRanges,
    change_details,
    given_in,
)
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import InMemory, StoredNotice, StoredRegression, Week

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import date

    from service.domain.trunk.regression import GateSaid
    from service.domain.values.identity import SeriesKey
    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.access import Author
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.trunk import RegressionChange
    from service.ports.verdict import StoredComparison


class _Measured(InMemory):
    def _series(self) -> list[SeriesKey]:
        return list(dict.fromkeys(key for each in self._m.results.values() for key in each.series))

    def _builds_of(self, run_id: int) -> Iterator[BuildRecord]:
        return (self._m.builds[build - 1] for run, build in self._m.run_builds if run == run_id)

    def _comparisons(self, build_id: int) -> Sequence[StoredComparison]:
        found = self._m.results.get(build_id)
        return () if found is None else found.comparisons

    def _signs(self) -> dict[int, int]:
        units = {key: unit for each in self._m.results.values() for key, unit in each.series.items()}
        numbered = enumerate(units.values(), 1)
        return {number: -1 if better == Better.HIGHER else 1 for number, (_, better) in numbered}

    def _results_of(self, run_id: int) -> Iterator[tuple[int, int, StoredComparison, int]]:
        """Yield the build, the series and the sign of a slow-down of each timed result of a run."""
        known = self._series()
        signs = self._signs()
        for build in (each.id for each in self._builds_of(run_id)):
            for each in self._comparisons(build):
                if each.series.metric != INSTRUCTIONS.name:
                    number = known.index(each.series) + 1
                    yield build, number, each, signs[number]

    def _is_cut_short(self, run: RunRecord) -> bool:
        ends = {build.outcome for build in self._builds_of(run.id)}
        return not ends.isdisjoint({Outcome.CANCELLED, Outcome.INFRASTRUCTURE})

    def _is_done(self, run: RunRecord) -> bool:
        return run.state is RunState.FINISHED and not self._is_cut_short(run)


class MemoryBranches(_Measured, Branches):
    def followed(self, instance: str) -> Sequence[tuple[str, str]]:
        recent = (
            run
            for run in self._m.runs
            if run.instance == instance
            and run.kind is not RunKind.CALIBRATION
            and self._m.created[run.id] > self._m.clock - 30 * 86400
        )
        return sorted({(run.project, run.branch) for run in recent})

    def measured(
        self, instance: str, project: str, branch: str, revisions: Collection[str]
    ) -> frozenset[str]:
        here = (instance, project, branch, RunKind.POST_SUBMIT)
        runs = [run for run in self._m.runs if (run.instance, run.project, run.branch, run.kind) == here]
        found = {self._m.merged_as.get(run.id) or run.revision for run in runs}
        return frozenset(found.intersection(revisions))

    def anchors(self, key: BranchKey) -> MeasuredAnchors:
        here = (key.pool, key.instance, key.project, key.branch, RunKind.ANCHOR)
        runs = [
            run
            for run in self._m.runs
            if (run.pool, run.instance, run.project, run.branch, run.kind) == here
            and (run.committed_at, run.previous_id) == (None, None)
        ]
        tries = {}
        for run in runs:
            own = [each for each in runs if (each.parent, each.revision) == (run.parent, run.revision)]
            tries[str(run.parent), run.revision] = AnchorTries(len(own), any(map(self._is_done, own)))
        ages = (self._m.clock - self._m.created[run.id] for run in runs)
        return MeasuredAnchors(tries, min(ages, default=None))

    def is_measuring(self, pool: str) -> bool:
        return any(
            run.pool == pool and run.kind.is_for_idle_pools and run.state in UNFINISHED
            for run in self._m.runs
        )

    def undecided(self, key: BranchKey) -> Sequence[UndecidedResult]:
        here = (key.instance, key.project, key.branch, RunKind.POST_SUBMIT, RunState.FINISHED)
        found: list[UndecidedResult] = []
        for run in self._m.runs:
            is_private = run.change is not None and self._m.changes[run.change].is_private
            is_old = self._m.created[run.id] < self._m.clock - WITHIN_DAYS * 86400
            if (run.instance, run.project, run.branch, run.kind, run.state) != here or is_private or is_old:
                continue
            longer = [
                each.id for each in self._m.runs if (each.kind, each.previous_id) == (RunKind.LONGER, run.id)
            ]
            builds = [build for number, build in self._m.run_builds if number in {run.id, *longer}]
            measured = [each for each in builds if self._comparisons(each)]
            tries = sum(self._is_done(self._m.runs[each - 1]) for each in longer)
            if tries < MOST_TRIES and measured:
                found += self._undecided(key.pool, run.id, max(measured), tries)
        return sorted(found, key=lambda each: (each.seconds, each.build_id, each.benchmark))

    def _undecided(self, pool: str, run_id: int, build_id: int, tries: int) -> Iterator[UndecidedResult]:
        results = self._m.results[build_id]
        for each in results.comparisons:
            sign = -1 if results.series[each.series][1] == Better.HIGHER else 1
            is_slow = each.ratio is not None and sign * math.log(each.ratio) >= LEAST
            is_timed = each.series.metric != INSTRUCTIONS.name and each.series.machine_class == pool
            for why in each.reasons if is_slow and is_timed and each.verdict is Verdict.UNDECIDED else ():
                if why.kind in {ReasonKind.MORE_PAIRS, ReasonKind.LAYOUT_NOT_CHECKED}:
                    more, seconds = (float(fact) for fact in (*why.facts, 0.0, 0.0)[:2])
                    yield UndecidedResult(
                        run_id, build_id, each.series.benchmark, each.pairs, more, seconds, tries
                    )

    def slow_ranges(self, key: BranchKey) -> SlowRanges:
        here = (key.pool, key.instance, key.project, key.branch, RunKind.ANCHOR, RunState.FINISHED)
        anchors = []
        for run in self._m.runs:
            span = self._range(run)
            if (run.pool, run.instance, run.project, run.branch, run.kind, run.state) != here or span is None:
                continue
            for build, number, each, sign in self._results_of(run.id):
                tries = self._tries(run.id, self._m.builds[build - 1].job)
                if each.verdict is Verdict.SLOWER and each.ratio and each.low and each.high:
                    worse = math.log(each.high if sign < 0 else each.low) * sign
                    anchor = (run.id, build, number, sign * math.log(each.ratio), worse, *span, tries)
                    anchors.append(SlowerAnchor(*anchor))
        series = {each.series_id for each in anchors}
        return SlowRanges(tuple(anchors), tuple(each for each in self._steps() if each.series_id in series))

    def _tries(self, run_id: int, job: str) -> int:
        again = [each for each in self._m.runs if (each.kind, each.previous_id) == (RunKind.LONGER, run_id)]
        own = [each for each in again if job in {build.job for build in self._builds_of(each.id)}]
        return sum(map(self._is_done, own)) if len(own) < AGAIN else len(own)

    def _steps(self) -> Iterator[KnownStep]:
        found: dict[tuple[int, int], KnownStep] = {}
        for run in self._m.runs:
            merged = (
                self._m.runs[run.previous_id - 1] if run.kind is RunKind.LONGER and run.previous_id else run
            )
            if merged.kind is not RunKind.POST_SUBMIT:
                continue
            moment = merged.id
            for _, number, each, sign in self._results_of(run.id):
                if each.verdict in {Verdict.SLOWER, Verdict.FASTER} and each.ratio:
                    step = KnownStep(number, sign * math.log(each.ratio), moment, moment)
                    found[number, merged.id] = step
        yield from found.values()
        for regression in self._m.regressions:
            of = self._m.runs[regression.run_id - 1]
            span = self._range(of) if of.committed_at is None else self._landed(of)
            for result, _ in regression.results if span else ():
                sign = self._signs()[result.series_id]
                if span and result.ratio:
                    yield KnownStep(result.series_id, sign * math.log(result.ratio), *span)

    def _landed(self, run: RunRecord) -> tuple[int, int] | None:
        """Return the first run on the branch that has the commit of a backfill, as begin and end."""
        runs, children = dict[str, int](), dict[str, str]()
        for each in reversed(self._m.runs):
            commit = self._m.merged_as.get(each.id) or each.revision
            if each.kind is RunKind.POST_SUBMIT:
                runs[commit] = each.id
            if (each.kind is RunKind.POST_SUBMIT or each.committed_at) and each.parent:
                children[each.parent] = commit
        found = first_run_with(run.revision, runs, children)
        return None if found is None else (found, found)

    def _range(self, run: RunRecord) -> tuple[int, int] | None:
        """Return the runs on the merged commits of an anchor; None for any other run."""
        merged = {
            self._m.merged_as.get(each.id) or each.revision: each.id
            for each in self._m.runs
            if each.kind is RunKind.POST_SUBMIT
        }
        is_anchor = run.kind is RunKind.ANCHOR and run.committed_at is None and run.previous_id is None
        if not is_anchor or run.parent not in merged or run.revision not in merged:
            return None
        begin, end = merged[run.parent], merged[run.revision]
        return (begin, end) if begin < end else None

    def unfinished(self, instance: str, project: str, branch: str) -> int:
        here = (instance, project, branch, RunKind.POST_SUBMIT)
        return sum(
            (run.instance, run.project, run.branch, run.kind) == here and run.state in UNFINISHED
            for run in self._m.runs
        )


class MemoryRegressions(_Measured, MemoryAudit, Regressions):
    def slower_results(self, run_id: int) -> SlowerResults:
        check = self._check_before(self._merged(run_id))
        found = []
        for build in self._builds_of(run_id):
            for each in self._comparisons(build.id):
                number = self._series().index(each.series) + 1
                if self._merged(run_id).committed_at and self._is_narrowed(self._merged(run_id), number):
                    continue
                if each.verdict is Verdict.SLOWER and each.series.metric != INSTRUCTIONS.name:
                    checked = None if check is None else self._checked(check, build.job, each.series)
                    weight = self._weight(build, each)
                    found.append(
                        SlowerResult(
                            series_id=number,
                            build_id=build.id,
                            benchmark=each.series.benchmark,
                            ratio=each.ratio,
                            low=each.low,
                            high=each.high,
                            weight=weight,
                            checked=checked,
                        )
                    )
        return SlowerResults(tuple(found), check.id if check and found else None)

    def record(
        self, run_id: int, state: RegressionState, results: Sequence[tuple[SlowerResult, GateSaid]]
    ) -> int | None:
        merged = self._merged(run_id).id
        place = next((n for n, each in enumerate(self._m.regressions) if each.run_id == merged), None)
        before = () if place is None else self._m.regressions[place].results
        known = {each.series_id: each.weight for each, _ in before}
        said = {each.series_id: gate_said for each, gate_said in before}
        found = [(each.series_id, each.weight) for each, _ in results]
        news, weights = is_news(known, found), weights_with(known, found)
        new = tuple(
            (replace(each, weight=weights[each.series_id]), said.get(each.series_id, gate_said))
            for each, gate_said in results
        )
        if place is None:
            self._m.regressions.append(StoredRegression(merged, state, new))
            place = len(self._m.regressions) - 1
        else:
            stored, again = self._m.regressions[place], {each.series_id for each, _ in results}
            kept = tuple(each for each in before if each[0].series_id not in again)
            after = state_with(stored.state, state, is_news=news)
            self._m.regressions[place] = replace(stored, state=after, results=kept + new)
        return place + 1 if news else None

    def tell(self, regression_id: int, recipients: Sequence[Recipient]) -> None:
        for each in recipients:
            key: tuple[int | Week, Recipient] = (regression_id, each)
            new = StoredNotice(len(self._m.notices) + 1, next_at=self._m.clock)
            stored = self._m.notices.setdefault(key, new)
            if stored.state is NoticeState.DROPPED:
                self._m.notices[key] = replace(new, id=stored.id)

    def open_ranges(self, key: BranchKey) -> Sequence[OpenRange]:
        found = []
        for number, each in enumerate(self._m.regressions, 1):
            run = self._m.runs[each.run_id - 1]
            here = (run.pool, run.instance, run.project, run.branch) == astuple(key)
            is_range = run.kind is RunKind.ANCHOR and run.committed_at is None
            cut_short = [of for of in self._m.runs if of.previous_id == run.id and self._is_cut_short(of)]
            is_old = self._m.created[run.id] < self._m.clock - SPREAD_DAYS * 86400
            is_open = each.state in {RegressionState.UNTRIAGED, RegressionState.CONFIRMED}
            if is_old or len(cut_short) >= MOST_CUT_SHORT or each.narrowed is not None:
                continue
            if here and is_range and is_open:
                worst = min((result for result, _ in each.results), key=_importance)
                ends = (number, run.id, str(run.parent), run.revision)
                links = tuple(self._range_links(run.id, worst.series_id))
                found.append(OpenRange(*ends, worst.series_id, self._spent(key.pool), links))
        return found[::-1]

    def _spent(self, pool: str) -> float:
        day_ago = self._m.clock - 86400.0
        return sum(
            self._m.ended.get(run.id, self._m.clock) - self._m.created[run.id]
            for run in self._m.runs
            if run.kind is RunKind.ANCHOR and run.pool == pool and run.previous_id is not None
            if self._m.created[run.id] > day_ago
        )

    def _range_links(self, run_id: int, series_id: int) -> Iterator[RangeLink]:
        found: dict[tuple[str, str], RangeLink] = {}
        for run in self._m.runs:
            is_of_range = run.kind is RunKind.ANCHOR and run_id in {run.id, run.previous_id}
            if is_of_range and (self._is_done(run) or run.state is RunState.REFUSED):
                ends = (str(run.parent), run.revision)
                worsening, error, pairs = self._compared(run.id, series_id)
                found[ends] = RangeLink(run.id, *ends, worsening, error, pairs)
        yield from found.values()

    def _compared(self, run_id: int, series_id: int) -> tuple[float | None, float, int]:
        job = self._series()[series_id - 1].job
        for build in self._builds_of(run_id):
            if build.job == job and build.outcome is Outcome.NOT_BUILT:
                return 0.0, 0.0, 0
        for _, number, each, sign in self._results_of(run_id):
            if number == series_id and ReasonKind.SAME_PROGRAM in {why.kind for why in each.reasons}:
                return 0.0, 0.0, each.pairs
            if number == series_id and each.ratio and each.error is not None:
                return sign * math.log(each.ratio), each.error, each.pairs
        return None, 0.0, 0

    def narrow(self, regression_id: int, series_id: int, run_id: int | None, commits: int = 0) -> None:
        found = replace(self._m.regressions[regression_id - 1], narrowed=(series_id, run_id, commits))
        self._m.regressions[regression_id - 1] = found

    def _is_narrowed(self, link: RunRecord, series_id: int) -> bool:
        """Return whether the range of a benchmark was narrowed to a link's commit."""
        for each in self._m.regressions:
            series, run_id, commits = each.narrowed or (0, None, 0)
            if run_id and (series, commits) == (series_id, 1):
                run = self._m.runs[run_id - 1]
                if (run.parent, run.revision) == (link.parent, link.revision):
                    return True
        return False

    def change(self, ids: Sequence[int], change: RegressionChange, author: Author) -> None:
        for missing in (each for each in sorted({*ids}) if not 0 < each <= len(self._m.regressions)):
            raise NotFound(f"there is no regression {missing}")
        for each in sorted({*ids}):
            stored = self._m.regressions[each - 1]
            was = {name: str(getattr(stored, name)) for name in JUDGED}
            values = was | given_in(change)
            if values != was:
                state = RegressionState(values["state"])
                self._m.regressions[each - 1] = replace(stored, **{**values, "state": state})  # type: ignore[arg-type]
                details, subject = change_details(was, values, author), f"regression {each}"
                self.record_act(AuditKind.REGRESSION_CHANGED, author.account, subject, details)

    def _merged(self, run_id: int) -> RunRecord:
        run = self._m.runs[run_id - 1]
        if run.kind is RunKind.LONGER and run.previous_id is not None:
            return self._m.runs[run.previous_id - 1]
        return run

    def _check_before(self, run: RunRecord) -> RunRecord | None:
        if run.patch_set_id is None:
            return None
        merged = self._m.patch_sets[run.patch_set_id - 1]
        before = [
            (number, each)
            for number, each in enumerate(self._m.patch_sets, 1)
            if each.change_id == merged.change_id and each.number <= merged.number
        ]
        other_code = (each.number for _, each in before if each.kind is PatchSetKind.OTHER_CODE)
        first = max(other_code, default=1)
        same = {number for number, each in before if each.number >= first}
        checks = (
            each
            for each in self._m.runs
            if each.kind is RunKind.CHECK and each.state is RunState.FINISHED and each.patch_set_id in same
        )
        return max(checks, key=lambda each: each.id, default=None)

    def _checked(self, check: RunRecord, job: str, series: SeriesKey) -> Checked:
        for build in self._builds_of(check.id):
            for each in self._comparisons(build.id) if build.job == job else ():
                if each.series == series:
                    return Checked(each.verdict, self._weight(build, each), build.is_voting, build.id)
        return Checked()

    def _weight(self, build: BuildRecord, row: StoredComparison) -> Weight:
        key = (build.job, row.series.suite, row.series.benchmark, row.series.metric)
        votes = build.slowdowns is None or any(each.key == key for each in build.slowdowns)
        return weight_of({each.kind for each in row.reasons}, votes=votes)


def _importance(result: SlowerResult) -> tuple[int, float]:
    return [*Weight].index(result.weight), -abs(math.log(result.ratio or 1.0))


class MemoryNotices(InMemory, DueNotices):
    def queue_digests(self, week_at: Callable[[datetime], date | None]) -> None:
        week = week_at(datetime.fromtimestamp(self._m.clock, UTC))
        queued = {about[0] for about, _ in self._m.notices if not isinstance(about, int)}
        if week is None or week in queued:
            return
        newest: dict[tuple[str, str, str, str], BuildRecord] = {}
        for run_id, build_id in self._m.run_builds:
            run, build = self._m.runs[run_id - 1], self._m.builds[build_id - 1]
            is_recent = self._m.created[run_id] > self._m.clock - 30 * 86400
            if run.kind is RunKind.POST_SUBMIT and is_recent:
                newest[run.instance, run.project, run.branch, build.job] = build
        found = set()
        for (instance, project, *_), build in newest.items():
            config = build.spec.get("config", {})
            owners = [*config.get("owners", {}).values(), *config.get("path_owners", {}).values()]
            told = [Recipient(Channel.CHAT), *(Recipient(Channel.MAIL, to) for of in owners for to in of)]
            found |= {(instance, project, each) for each in told}
        for instance, project, each in sorted(
            found, key=lambda one: (*one[:2], one[2].channel, one[2].address)
        ):
            stored = StoredNotice(len(self._m.notices) + 1, next_at=self._m.clock)
            self._m.notices[(week, instance, project), each] = stored

    def due_notices(self) -> Sequence[DueNotice]:
        for key, each in self._m.notices.items():
            if each.state is NoticeState.SENDING and each.changed_at < self._m.clock - 600:
                self._m.notices[key] = replace(each, state=NoticeState.FAILED, note=UNCERTAIN)
        found = [
            (each.next_at, each.id, self._due(about, recipient, each))
            for (about, recipient), each in self._m.notices.items()
            if each.state is NoticeState.WAITING and each.next_at <= self._m.clock
        ]
        return [due for *_, due in sorted(found, key=lambda each: each[:2])]

    def begin_notice(self, notice_id: int) -> bool:
        return self._change(notice_id, {NoticeState.WAITING}, state=NoticeState.SENDING)

    def settle_notice(self, notice_id: int, state: NoticeState, note: str = "") -> None:
        self._change(notice_id, {NoticeState.WAITING, NoticeState.SENDING}, state=state, note=note)

    def postpone_notice(self, notice_id: int, seconds: float, error: str) -> None:
        later, state = self._m.clock + seconds, NoticeState.WAITING
        active = {NoticeState.WAITING, NoticeState.SENDING}
        self._change(notice_id, active, is_attempt=True, state=state, note=error, next_at=later)

    def _due(self, about: int | Week, recipient: Recipient, stored: StoredNotice) -> DueNotice:
        if not isinstance(about, int):
            week, instance, project = about
            return DueNotice(
                id=stored.id,
                recipient=recipient,
                instance=instance,
                project=project,
                attempts=stored.attempts,
                week=week,
            )
        run = self._m.runs[self._m.regressions[about - 1].run_id - 1]
        change = None if run.change is None else self._m.changes.get(run.change)
        return DueNotice(
            id=stored.id,
            regression_id=about,
            run_id=run.id,
            recipient=recipient,
            instance=run.instance,
            project=run.project,
            attempts=stored.attempts,
            is_private=change is not None and change.is_private,
            is_public=(run.instance, run.project, run.branch) in self._m.public_branches,
        )

    def _change(
        self, notice_id: int, when: Collection[NoticeState], *, is_attempt: bool = False, **values: object
    ) -> bool:
        for key, each in self._m.notices.items():
            if each.id == notice_id and each.state in when:
                changed = replace(each, changed_at=self._m.clock, **values)  # type: ignore[arg-type]
                self._m.notices[key] = replace(changed, attempts=each.attempts + is_attempt)
                return True
        return False
