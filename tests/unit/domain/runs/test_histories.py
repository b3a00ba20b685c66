"""Recorded histories of changes: Benchgate makes the votes and messages of the Build Bot again."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.reruns import Place, failed_jobs, next_run, rerun_in
from service.domain.runs.vote import Ballot, Outcome, Result, vote_of
from service.domain.values.identity import RunKind
from service.domain.wording.message import MAX_BYTES, BuildReport, Header, compose, header_of
from tests.support.runs.histories import BOT, recorded_histories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.runs.histories import Comment, ExternalBuild, RecordedHistory, Round, Votes

HISTORIES = recorded_histories()
LABEL = "Verified"
LINK = "https://bench.example.com/runs/41#v1"
OUTCOMES = {Result.SUCCESS: Outcome.PASSED, Result.FAILURE: Outcome.FAILED}
each_history = pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name)


@dataclass
class Replay:
    """A review server and a service over one history: its comments come in, ours go out."""

    patch_set: int
    votes: Votes
    builds: dict[int | None, ExternalBuild] = field(default_factory=dict)  # by the ids of places
    places: tuple[Place, ...] = ()

    def record_comments(self, comment: Comment) -> None:
        """A person did something."""
        if comment.is_new_patch_set:
            self.votes.pop(LABEL, None)
        for label, value in comment.votes.items():
            self.votes.setdefault(label, {})[comment.by] = value
        for label, person in comment.removes.items():
            del self.votes[label][person]

    def finish(self, ended: Round) -> str:
        """The builds of a round are in: the text of our comment as the server shows it."""
        if ended.kind is RunKind.CHECK:
            self.places = self._placed(ended)
            return self._posted(ended.kind, [self.builds[place.build_id] for place in self.places])
        return self._posted(ended.kind, ended.builds)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes of the jobs of the last run."""
        return {place.job: OUTCOMES[self.builds[place.build_id].result] for place in self.places}

    def _placed(self, ended: Round) -> tuple[Place, ...]:
        jobs = [build.job for build in ended.builds]
        if self.places:  # a person asked for one job after the other
            places = rerun_in(next_run(self.places, jobs[:1]), jobs[1:])
        else:
            places = tuple(Place(job, None) for job in jobs)
        new = {build.job: len(self.builds) + index for index, build in enumerate(ended.builds)}
        self.builds |= {new[build.job]: build for build in ended.builds}
        return tuple(
            replace(place, build_id=new[place.job]) if place.build_id is None else place for place in places
        )

    def _posted(self, kind: RunKind, builds: Sequence[ExternalBuild]) -> str:
        outcomes = [OUTCOMES[build.result] for build in builds]
        ballots = [Ballot(outcome) for outcome in outcomes]
        vote = vote_of(ballots)
        header = header_of(vote, ballots)
        reports = [BuildReport(each.url, each.result, each.causes, is_external=True) for each in builds]
        shown = self._cast(vote if kind is RunKind.CHECK else None)
        return f"Patch Set {self.patch_set}:{shown}\n\n{compose(header, reports, LINK)}"

    def _cast(self, vote: int | None) -> str:
        """Cast the bot's vote, and return Gerrit's words; empty if the vote stays the same."""
        votes = self.votes.setdefault(LABEL, {})
        if vote is None or votes.get(BOT) == vote:
            return ""
        votes[BOT] = vote
        return f" {LABEL}{vote:+}"


def replay_of(history: RecordedHistory) -> Replay:
    return Replay(history.patch_set, copy.deepcopy(history.votes_before))


@each_history
def test_every_result_comment_comes_out_as_recorded(history: RecordedHistory) -> None:
    """Except the link in the last line, and the apostrophe of the old bot in a message without a vote."""
    replay = replay_of(history)
    for comment in history.story:
        replay.record_comments(comment)
        if comment.round is not None:
            assert replay.finish(comment.round) == comment.text.removesuffix("'") + f"\n\n{LINK}"


@each_history
def test_the_votes_after_every_comment_are_those_recorded(history: RecordedHistory) -> None:
    replay = replay_of(history)
    for comment in history.story:
        replay.record_comments(comment)
        if comment.round is not None:
            replay.finish(comment.round)
        assert {label: votes for label, votes in replay.votes.items() if votes} == comment.votes_after


@each_history
def test_recheck_would_have_run_the_jobs_that_people_ran_again(history: RecordedHistory) -> None:
    replay = replay_of(history)
    for ended in (comment.round for comment in history.story if comment.round is not None):
        if replay.places:
            assert set(failed_jobs(replay.outcomes)) == {build.job for build in ended.builds}
        replay.finish(ended)


def test_the_old_bots_apostrophe_is_where_it_cast_no_vote_and_nowhere_else() -> None:
    ends = {history.name for history in HISTORIES for each in history.story if each.text.endswith("'")}

    assert ends == {"nothing_was_executed", "after_the_submit"}


def test_eleven_result_comments_are_recorded() -> None:
    assert sum(comment.round is not None for history in HISTORIES for comment in history.story) == 11


@each_history
def test_comments_are_recorded_in_the_order_they_were_written(history: RecordedHistory) -> None:
    moments = [comment.at for comment in history.story]

    assert moments == sorted(moments)


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        ("Test  #49: dcp ......", "Test  #49: dcp ......"),
        ("a\n\nhttps://evil.example : SUCCESS", "a https://evil.example : SUCCESS"),
        ("\u202e \t  BM\u202e\x1b[31m \0 x\u2028y ", "BM[31m  x y"),
        ("    indented", "indented"),
        ("x" * 999 + " yz", "x" * 999 + "…"),
        ("x" * 5000, "x" * 999 + "…"),
    ],
)
def test_an_external_cause_is_one_harmless_line_with_its_blanks_and_link(cause: str, line: str) -> None:
    url = "http://ci.example.com/job/linux/7/"
    message = compose(Header.FAILED, [BuildReport(url, Result.FAILURE, (cause,), is_external=True)], LINK)

    assert message.split("\n\n") == ["Build Failed ", f"{url} : FAILURE", f"{line} ( {url} )", LINK]


def test_causes_of_external_builds_fit_with_their_links() -> None:
    causes = tuple("🚀" * 1000 for _ in range(20))
    reports = [BuildReport("http://ci.example.com/" + "x" * 200, Result.FAILURE, causes, is_external=True)]

    assert len(compose(Header.FAILED, reports, LINK).encode()) <= MAX_BYTES


def test_a_cause_of_our_own_build_has_no_link_of_its_own() -> None:
    message = compose(Header.FAILED, [BuildReport("link", Result.FAILURE, ("a  b",))], LINK)

    assert message.split("\n\n") == ["Build Failed ", "link : FAILURE", "a b", LINK]
