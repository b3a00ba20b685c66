"""Regressions and their notices in memory."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from service.domain.access.audit import AuditKind
from service.domain.review.change import PatchSetKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
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
from service.domain.trunk.spread import WITHIN_DAYS as SPREAD_DAYS
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.regressions import UNCERTAIN
from service.ports.trunk import (
    JUDGED,
    DueNotice,
    DueNotices,
    OpenRange,
    RangeLink,
    Regressions,
    SlowerResult,
    SlowerResults,
    change_details,
    given_in,
)
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.measured import Measured
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


class MemoryRegressions(Measured, MemoryAudit, Regressions):
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
            if not (isinstance(about, int) and self._is_being_explained(about))
        ]
        return [due for *_, due in sorted(found, key=lambda each: each[:2])]

    def _is_being_explained(self, regression_id: int) -> bool:
        results = self._m.regressions[regression_id - 1].results
        return any(self._m.is_held(each.build_id) for each, _ in results)

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
