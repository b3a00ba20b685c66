from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.adapters.review.gerrit.messages import GerritMessage
from service.domain.review.change import Person
from service.domain.review.vote_override import PersonOverride, is_vote_removed, person_overrides
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import PostedMessage

BOT = Person("Build Bot", "buildbot@example.com", "buildbot", "1000001")
ALICE = Person("Alice Author", "alice@example.com", "alice", "1000002")
BOB = Person("Bob R", "bob@example.com", "bob", "1000003")
NOBODY = Person()
START = datetime(2020, 2, 24, 16, 46, 24, tzinfo=UTC)

FAILED = (BOT, "Patch Set 3: Verified-1\n\nBuild Failed \n\nhttps://ci.example.com/job/linux/2038/ : FAILURE")
REASON = "Overriding buildbot, known intermittent failure (MB-37948)"
SAYS_WHY = (BOB, f"Patch Set 3:\n\n{REASON}")
VOTES = (BOB, "Patch Set 3: Verified+1")
REMOVES = (BOB, "Removed Verified-1 by Build Bot <buildbot@example.com>\n")
BOT_REMOVED = "Removed reviewer Build Bot with the following votes:\n\n"


def posted(*posts: tuple[Person, str], patch_set: int = 3) -> list[PostedMessage]:
    """Make the messages m1, m2, … on a patch set, a minute apart."""
    return [
        GerritMessage(f"m{number}", patch_set, author, START + timedelta(minutes=number), text).translated()
        for number, (author, text) in enumerate(posts, 1)
    ]


def found(messages: Sequence[PostedMessage], label: str = "Verified") -> PersonOverride | None:
    """Find the first override, if there is one."""
    return next(iter(person_overrides(messages, 3, label, BOT)), None)


def bug_of(*posts: tuple[Person, str]) -> str:
    override = found(posted(*posts))
    assert override is not None
    return override.bug


def test_the_recorded_override_is_recognised() -> None:
    still_failed = (BOT, "Patch Set 3:\n\nBuild Failed \n\nhttps://ci.example.com/job/linux/2050/ : FAILURE")
    reviewed = (ALICE, "Patch Set 3: Code-Review+2")
    history = posted(FAILED, still_failed, still_failed, SAYS_WHY, VOTES, REMOVES, reviewed)

    assert found(history) == PersonOverride(
        who="Bob R",
        account="1000003",
        bug="MB-37948",
        reason=REASON,
        message_ids=("m4", "m5", "m6"),
        at=history[5].written,
    )


@pytest.mark.parametrize("acts", list(permutations([SAYS_WHY, VOTES, REMOVES])))
def test_the_order_of_vote_removal_and_words_does_not_matter(acts: Sequence[tuple[Person, str]]) -> None:
    history = posted(FAILED, *acts)
    override = found(history)

    assert override is not None
    assert (override.who, override.bug, override.reason) == ("Bob R", "MB-37948", REASON)
    assert override.message_ids == ("m2", "m3", "m4")
    assert override.at == max(m.written for m in history if m.shown in {VOTES[1], REMOVES[1]})


@pytest.mark.parametrize(
    "removal",
    [
        "Removed Verified-1 by Build Bot <buildbot@example.com>",
        "Removed Verified-1 by The Builder <BuildBot@example.com>\n",
        "Removed Verified-1 by Build Bot\n",
        "Removed Verified-1 by buildbot@example.com\n",
        "Removed Verified-1 by <GERRIT_ACCOUNT_1000001>\n",
        f"{BOT_REMOVED}* Code-Review-1 by Build Bot\n* Verified-1 by Build Bot <buildbot@example.com>\n",
        f"{BOT_REMOVED} * Verified-1 by <GERRIT_ACCOUNT_1000001>\n",
    ],
)
def test_each_form_of_gerrits_removal_message_is_parsed(removal: str) -> None:
    history = posted(FAILED, VOTES, (BOB, removal))

    assert found(history) is not None
    assert is_vote_removed(history, {3}, "Verified", BOT)


@pytest.mark.parametrize(
    "removal",
    [
        "Removed Verified-1 by Alice Author <alice@example.com>\n",
        "Removed Code-Review-1 by Build Bot <buildbot@example.com>\n",
        "Removed Verified-1 by <GERRIT_ACCOUNT_10000012>\n",
        "Removed Verified-1 by Build Bot <buildbot@example.com> <evil@example.com>\n",
        "Removed Verified-1 by Build Bot <who-took-its-name@example.com>\n",
        "Removed reviewer Build Bot.",
        f"{BOT_REMOVED}* Code-Review-1 by Build Bot <x@example.com>\n",
        "Patch Set 3:\n\nRemoved Verified-1 by Build Bot <buildbot@example.com>",
        "Verified-1 by Build Bot <buildbot@example.com>",
        "* Verified-1 by Build Bot <buildbot@example.com>",
        "Patch Set 3:\n\n> Removed Verified-1 by Build Bot <buildbot@example.com>",
    ],
)
def test_other_messages_are_not_a_removal_of_the_bots_vote(removal: str) -> None:
    history = posted(FAILED, SAYS_WHY, VOTES, (BOB, removal))

    assert found(history) is None
    assert not is_vote_removed(history, {3}, "Verified", BOT)


@pytest.mark.parametrize(
    "vote",
    [
        (ALICE, "Patch Set 3: Verified+1"),
        (BOB, "Patch Set 3: Code-Review+1"),
        (BOB, "Patch Set 3: Verified-1"),
        (BOB, "Patch Set 3: -Verified"),
        (BOB, "Patch Set 2: Verified+1"),
        (BOB, "Patch Set 3:\n\nVerified+1"),
        (BOB, "Patch Set 3:\n\nPatch Set 3: Verified+1"),
        (BOB, "Patch Set 3: Not-Verified+1"),
        (BOT, "Patch Set 3: Verified+1"),
    ],
)
def test_without_a_vote_by_the_remover_there_is_no_override(vote: tuple[Person, str]) -> None:
    assert found(posted(FAILED, SAYS_WHY, REMOVES, vote)) is None


def test_votes_on_other_labels_do_not_matter() -> None:
    assert found(posted(FAILED, REMOVES, (BOB, "Patch Set 3: Code-Review+2 Verified+1\n\nok"))) is not None


def test_the_removal_of_a_plus_one_is_not_an_override() -> None:
    plus = (BOB, "Removed Verified+1 by Build Bot <buildbot@example.com>\n")

    assert found(posted((BOT, "Patch Set 3: Verified+1"), plus, VOTES)) is None


def test_votes_and_removals_on_another_patch_set_do_not_count() -> None:
    history = posted(FAILED, SAYS_WHY, VOTES, REMOVES, patch_set=2)
    mixed = [*posted(FAILED, SAYS_WHY, VOTES), *posted(REMOVES, patch_set=2)]

    assert found(history) is None
    assert found(mixed) is None


def test_votes_and_removals_by_the_bot_do_not_count() -> None:
    assert found(posted(FAILED, (BOT, REMOVES[1]), (BOT, VOTES[1]))) is None


def test_votes_and_removals_without_an_account_do_not_count() -> None:
    assert found(posted(FAILED, (NOBODY, REMOVES[1]), (NOBODY, VOTES[1]))) is None


def test_the_bots_next_vote_ends_the_effect_of_a_removal() -> None:
    assert found(posted(FAILED, REMOVES, FAILED, VOTES)) is None
    assert found(posted(FAILED, VOTES, REMOVES, FAILED, REMOVES)) is not None
    assert found(posted(FAILED, REMOVES, (BOT, "Patch Set 3: -Verified"), VOTES)) is not None


@pytest.mark.parametrize(
    "revoked",
    [
        (BOB, "Patch Set 3: -Verified"),
        (BOB, "Patch Set 3: Verified-1\n\nI was wrong"),
        (ALICE, "Removed Verified+1 by Bob R <bob@example.com>\n"),
        (BOB, "Removed Verified+1 by <GERRIT_ACCOUNT_1000003>\n"),
    ],
)
def test_a_revoked_vote_is_not_an_override(revoked: tuple[Person, str]) -> None:
    assert found(posted(FAILED, SAYS_WHY, VOTES, REMOVES, revoked)) is None
    assert found(posted(FAILED, SAYS_WHY, VOTES, revoked, REMOVES)) is None


def test_overrides_of_two_persons_are_both_found() -> None:
    by_alice = [(ALICE, VOTES[1]), (ALICE, REMOVES[1])]
    history = posted(FAILED, VOTES, REMOVES, FAILED, *by_alice)

    overrides = person_overrides(history, 3, "Verified", BOT)

    assert [each.account for each in overrides] == [BOB.account, ALICE.account]


def test_overrides_are_sorted_by_the_time_of_their_completion() -> None:
    by_alice = [(ALICE, VOTES[1]), (ALICE, REMOVES[1])]
    history = posted(FAILED, *by_alice, VOTES, REMOVES, FAILED, (ALICE, REMOVES[1]))

    overrides = person_overrides(history, 3, "Verified", BOT)

    assert [each.account for each in overrides] == [BOB.account, ALICE.account]


class TestBug:
    def test_is_not_taken_from_another_persons_words(self) -> None:
        assert bug_of(FAILED, (ALICE, SAYS_WHY[1]), VOTES, REMOVES) == ""

    def test_is_not_taken_from_another_patch_set(self) -> None:
        messages = [*posted(SAYS_WHY, patch_set=2), *posted(FAILED, VOTES, REMOVES)]
        override = found(messages)

        assert override is not None
        assert (override.bug, override.reason) == ("", "")

    def test_is_not_taken_from_words_before_the_bots_vote(self) -> None:
        assert bug_of((BOB, "Patch Set 3:\n\nThis also fixes MB-5"), FAILED, VOTES, REMOVES) == ""

    @pytest.mark.parametrize(
        "text",
        [
            "Patch Set 3:\n\nrecheck all\n\nas of MB-5",
            "Patch Set 3:\n\noverride MB-5 flaky since Monday",
            "Patch Set 3:\n\n> known failure (MB-5)",
            "Topic set to MB-5",
            "Removed Verified-1 by MB-5 <x@example.com>",
        ],
    )
    def test_is_not_taken_from_a_command_a_quote_or_the_servers_text(self, text: str) -> None:
        assert bug_of(FAILED, (BOB, text), VOTES, REMOVES) == ""

    def test_is_taken_from_the_message_of_the_vote(self) -> None:
        assert bug_of(FAILED, REMOVES, (BOB, "Patch Set 3: Verified+1\n\n(1 comment)\n\nMB-5")) == "MB-5"

    def test_the_nearest_one_before_the_override_is_taken(self) -> None:
        earlier = (BOB, "Patch Set 3:\n\nLooks like MB-1")
        later = (BOB, "Patch Set 3:\n\nMB-2 would help")
        chat = (BOB, "Patch Set 3:\n\nLet us go on")

        assert bug_of(FAILED, earlier, SAYS_WHY, chat, VOTES, REMOVES, later) == "MB-37948"

    @pytest.mark.parametrize(
        ("words", "bug"),
        [
            ("known failure (MB-37948).", "MB-37948"),
            ("override buildbot, known failure MB-7", "MB-7"),
            ("test #49 is flaky, see MB-7", "MB-7"),
            ("flaky, https://bugs.example.com/browse/MB-7", "MB-7"),
            ("flaky (https://example.com/kv/issues/12).", "https://example.com/kv/issues/12"),
            ("flaky, bug #12", "#12"),
            ("flaky (#12)", "#12"),
            ("test #49 failed in https://ci.example.com/job/linux/2050/", ""),
            ("Verified-1 is wrong, see kv-MB-7", ""),
            ("just flaky", ""),
        ],
    )
    def test_is_recognised_in_prose(self, words: str, bug: str) -> None:
        override = found(posted(FAILED, REMOVES, (BOB, f"Patch Set 3: Verified+1\n\n{words}")))

        assert override is not None
        assert (override.bug, override.reason) == (bug, words)


def test_long_words_are_cut() -> None:
    override = found(posted(FAILED, REMOVES, (BOB, "Patch Set 3: Verified+1\n\n" + "word\n" * 9000)))

    assert override is not None
    assert len(override.reason) == 500


class TestRemovedVote:
    def test_any_other_account_can_remove_it(self) -> None:
        assert is_vote_removed(posted(FAILED, (ALICE, REMOVES[1])), {3}, "Verified", BOT)
        assert is_vote_removed(posted(FAILED, (NOBODY, REMOVES[1])), {3}, "Verified", BOT)

    def test_a_vote_copied_to_the_patch_set_can_be_removed(self) -> None:
        assert is_vote_removed(posted(REMOVES), {3}, "Verified", BOT)

    def test_a_removal_by_the_bot_itself_does_not_count(self) -> None:
        assert not is_vote_removed(posted(FAILED, (BOT, REMOVES[1])), {3}, "Verified", BOT)

    def test_it_ends_with_the_bots_next_vote_not_with_its_next_message(self) -> None:
        comments = (BOT, "Patch Set 3:\n\nBuild Failed")

        assert is_vote_removed(posted(FAILED, REMOVES, comments), {3}, "Verified", BOT)
        assert is_vote_removed(posted(FAILED, REMOVES, (BOT, "Patch Set 3: -Verified")), {3}, "Verified", BOT)
        assert not is_vote_removed(posted(FAILED, REMOVES, FAILED), {3}, "Verified", BOT)

    def test_it_concerns_one_patch_set_and_label(self) -> None:
        messages = posted(FAILED, REMOVES)

        assert not is_vote_removed(messages, {4}, "Verified", BOT)
        assert not is_vote_removed(messages, {3}, "Performance", BOT)


def test_a_bot_without_an_account_is_identified_by_its_names() -> None:
    bot = Person(username="buildbot", name="Build Bot")
    messages = posted(FAILED, (BOT, REMOVES[1]))

    assert not is_vote_removed(messages, {3}, "Verified", bot)
    assert is_vote_removed(posted(FAILED, REMOVES), {3}, "Verified", bot)


def test_a_person_with_the_bots_name_is_not_the_bot() -> None:
    namesake = Person("Build Bot", "other@example.com", "other", "1000009")

    assert found(posted(FAILED, (namesake, REMOVES[1]), (namesake, VOTES[1]))) is not None


TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=40),
    st.sampled_from([text for _, text in (FAILED, SAYS_WHY, VOTES, REMOVES)]),
    st.sampled_from(["Patch Set 3: -Verified", "Patch Set 3: Verified-1", "Patch Set 2: Verified+1"]),
)
HISTORIES = st.lists(st.tuples(st.sampled_from([BOT, ALICE, BOB, NOBODY]), TEXTS), max_size=12)


@given(HISTORIES)
def test_an_override_needs_a_removal_and_a_vote_by_one_person(
    posts: list[tuple[Person, str]],
) -> None:
    override = found(posted(*posts))

    if override is not None:
        own = [text for author, text in posts if author.account == override.account]
        assert override.account in {ALICE.account, BOB.account}
        assert REMOVES[1] in own
        assert VOTES[1] in own
        assert plain(override.reason, 500) == override.reason


@given(HISTORIES)
def test_a_vote_is_removed_only_by_a_removal(posts: list[tuple[Person, str]]) -> None:
    if is_vote_removed(posted(*posts), {3}, "Verified", BOT):
        assert any(text == REMOVES[1] and author is not BOT for author, text in posts)
