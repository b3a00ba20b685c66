from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.review.comment_commands import (
    MAX_COMMANDS,
    MAX_REASON,
    AcceptCommand,
    CancelCommand,
    Misspelt,
    MorePairsCommand,
    OkToTestCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
    commands_in,
    may_be_command,
)

JOBS = ("kv_engine.linux", "kv-engine-cv-perf", "group/kv_engine.macos")
COMMANDS = (
    "recheck",
    "recheck all",
    "recheck kv_engine.linux",
    "benchmark HTB/Insert x20",
    "cancel",
    "override MB-1 flaky since Monday",
    "override kv_engine.linux MB-1 flaky since Monday",
    "override undo",
    'accept "Insert" wanted',
    "ok-to-test",
)
each_command = pytest.mark.parametrize("line", COMMANDS)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("recheck", RecheckCommand()),
        ("recheck all", RecheckCommand(is_all=True)),
        ("recheck kv_engine.linux", RecheckCommand(("kv_engine.linux",))),
        (
            "recheck group/kv_engine.macos kv-engine-cv-perf",
            RecheckCommand(("group/kv_engine.macos", "kv-engine-cv-perf")),
        ),
        ("recheck kv_engine.linux kv_engine.linux", RecheckCommand(("kv_engine.linux",))),
        ("benchmark HTB/Insert", MorePairsCommand("HTB/Insert")),
        ("benchmark Insert* x20", MorePairsCommand("Insert*", 20)),
        ("benchmark insert x1", MorePairsCommand("insert", 1)),
        ("benchmark insert x1000", MorePairsCommand("insert", 1000)),
        ('benchmark "BM_Map<std::string, int>" X7', MorePairsCommand("BM_Map<std::string, int>", 7)),
        ("benchmark Insert", MorePairsCommand("Insert")),
        ("cancel", CancelCommand()),
        ("override MB-37948 known failure", OverrideCommand("MB-37948", "known failure")),
        ("override MB-37948: known failure", OverrideCommand("MB-37948", "known failure")),
        ("override GH-12 the disk is full", OverrideCommand("GH-12", "the disk is full")),
        ("override #123 ten letters", OverrideCommand("#123", "ten letters")),
        (
            "override https://example.com/i?id=1 the disk is full",
            OverrideCommand("https://example.com/i?id=1", "the disk is full"),
        ),
        (
            "override kv_engine.linux MB-1 the disk is full",
            OverrideCommand("MB-1", "the disk is full", "kv_engine.linux"),
        ),
        ("override MB-1 MB-2 is the same", OverrideCommand("MB-1", "MB-2 is the same")),
        ("override undo", UndoOverrideCommand()),
        ("accept HTB/Insert wanted", AcceptCommand("HTB/Insert", "wanted")),
        ("accept PureFollyExecutorBench safer locks", AcceptCommand("PureFollyExecutorBench", "safer locks")),
        ("accept * all are known", AcceptCommand("*", "all are known")),
        ('accept "Insert" x2 is fine', AcceptCommand("Insert", "x2 is fine")),
        ("accept Insert safer locks", AcceptCommand("Insert", "safer locks")),
        ("ok-to-test", OkToTestCommand()),
    ],
)
def test_a_command_is_a_line_of_its_own(line: str, command: object) -> None:
    assert commands_in(line, JOBS) == (command,)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\r\n",
        "  {} \t ",
        "\n\n{}\n\n",
        "I fixed the test.\n\n{}\n\nThank you!",
        "> Build Failed\n> \n> see the log\n\n{}",
        "This one:\n```\nmake\n```\n{}",
        "~~~ sh\n```\n~~~\n{}",
        "```make```\n{}",
        "> ```\n{}",
    ],
)
def test_other_lines_around_a_command_do_not_matter(text: str) -> None:
    for line in COMMANDS:
        assert commands_in(text.format(line), JOBS) == commands_in(line, JOBS)


@each_command
def test_case_and_blanks_do_not_matter(line: str) -> None:
    word, *rest = line.split(" ", 1)
    expected = commands_in(line, JOBS)

    assert commands_in(" ".join([word.upper(), *rest]), JOBS) == expected
    assert commands_in(" ".join([word.capitalize(), *rest]), JOBS) == expected
    assert commands_in("\t".join([word, *rest]), JOBS) == expected
    assert commands_in(line.replace(" ", "\t  "), JOBS) == expected
    assert commands_in(line.replace(" ", "\u00a0"), JOBS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "> {}",
        " >{}",
        ">> {}",
        "    {}",
        "\t{}",
        "```\n{}\n```",
        "```\n{}",
        "```\n``` x\n{}\n```",
        "~~~~ sh\n~~~\n{}\n~~~~",
        "`{}`",
        "- {}",
        "please {}",
        "Bob wrote: {}",
        "Patch Set 3: {}",
        "> see\r{}",
        "> see\u2028{}",
        "> see\x85{}",
    ],
)
def test_quotes_code_and_parts_of_sentences_are_not_commands(text: str) -> None:
    for line in COMMANDS:
        assert commands_in(text.format(line), JOBS) == ()


@pytest.mark.parametrize(
    "line",
    [
        "recheck this please",
        "recheck it, kv_engine.linux is flaky",
        "recheck kv_engine.linux please",
        "rechecked",
        "benchmark results",
        "benchmark numbers look fine to me",
        "benchmark HTB/Insert is slower x20",
        "benchmark HTB/Insert x0",
        "benchmark HTB/Insert x1001",
        "benchmark x20",
        "cancel that, it is fine",
        "override this in the subclass",
        "override undo is wrong here",
        "override MB-37948",
        "override mb-37948 flaky",
        "override javascript:alert(1) flaky",
        "override undo MB-1 flaky",
        "override kv_engine.linux flaky",
        "override no.such.job MB-1 flaky",
        "override MB-1 x",
        "override MB-1 !?",
        "accept HTB/Insert x",
        "accept this change as it is",
        "accept a small slowdown",
        "accept 2% of it",
        "accept HTB/Insert",
        'accept "Insert wanted',
        'accept "" wanted',
        'accept "Insert"wanted',
        "accept HTB/Insert \u200b",
        "ok-to-test for Bob",
    ],
)
class TestProse:
    def test_is_not_a_command_in_a_message(self, line: str) -> None:
        assert commands_in(f"I think we should\n{line}\n", JOBS) == ()

    def test_is_not_a_command_at_the_start_of_a_sentence(self, line: str) -> None:
        assert commands_in(line.capitalize(), JOBS) == ()


def test_an_ambiguous_word_is_a_filter_only_if_no_sentence_surrounds_it() -> None:
    assert commands_in("We cannot\naccept Insert being slower", JOBS) == ()
    assert commands_in("Benchmark Results\nInsert 10 ns", JOBS) == ()
    assert commands_in('Thanks!\naccept "Insert" being slower', JOBS) == (
        AcceptCommand("Insert", "being slower"),
    )


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("recheck kv_engine.linx", "recheck kv_engine.linx", "`recheck JOB…`; the jobs are group/kv_engine"),
        ("\n\nrecheck.", "recheck.", "`recheck`"),
        ("benchmark HTB/Insert x5000", "benchmark HTB/Insert x5000", "N from 1 to 1000"),
        ("cancel!\r\n", "cancel!", "`cancel` alone"),
        ("override MB-1", "override MB-1", "`override BUG-ID REASON`"),
        ("override nojob MB-1 flaky", "override nojob MB-1 flaky", "the jobs are "),
        ("accept insert known", "accept insert known", 'quote it: "WORD"'),
        ("ok-to-test now", "ok-to-test now", "`ok-to-test` alone"),
    ],
)
def test_a_message_that_is_only_a_malformed_command_gets_the_correct_form(
    text: str, line: str, expected: str
) -> None:
    (found,) = commands_in(text, JOBS)

    assert isinstance(found, Misspelt)
    assert found.line == line
    assert expected in found.expected
    assert "\n" not in found.expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("overide MB-1 flaky", "`override BUG-ID REASON`"),
        ("rerun", "write `recheck`"),
        ("Rerun all", "write `recheck`"),
        ("/recheck", "write `recheck`"),
        ("/cancel", "`cancel` alone"),
        ("Recheck please", "write `recheck`"),
        ("recheck, please", "write `recheck`"),
        ("Recheck please!", "write `recheck`"),
    ],
)
class TestNearMisses:
    def test_alone_in_a_message_gets_the_right_spelling(self, line: str, expected: str) -> None:
        found = commands_in(f"\n\n{line}\n", JOBS)

        (misspelt,) = found
        assert isinstance(misspelt, Misspelt)
        assert misspelt.line == line
        assert expected in misspelt.expected
        assert may_be_command(f"\n\n{line}\n")

    def test_in_a_longer_message_is_prose(self, line: str, expected: str) -> None:
        assert expected
        assert commands_in(f"I think we should\n{line}\n", JOBS) == ()


@pytest.mark.parametrize("line", ["/usr/bin/time is missing", "Reruns are slow", "Overriding this is fine"])
def test_words_that_only_resemble_a_command_get_no_reply(line: str) -> None:
    assert commands_in(line, JOBS) == ()
    assert not may_be_command(line)


def test_without_jobs_the_reply_lists_none() -> None:
    (found,) = commands_in("recheck x", ())

    assert isinstance(found, Misspelt)
    assert "the jobs are" not in found.expected


def test_commands_keep_their_order() -> None:
    text = "\n\noverride undo\nsome words\nRecheck all\r\ncancel"

    assert commands_in(text, JOBS) == (UndoOverrideCommand(), RecheckCommand(is_all=True), CancelCommand())


def test_the_first_line_of_a_comment_that_an_earlier_version_stored_is_prose() -> None:
    assert commands_in("Patch Set 3:\n\nrecheck all", JOBS) == (RecheckCommand(is_all=True),)


def test_a_reason_is_one_line_without_control_characters() -> None:
    assert commands_in("override MB-1 a\x00bcdefg\u202e  hi j", JOBS) == (
        OverrideCommand("MB-1", "abcdefg hi j"),
    )


@pytest.mark.parametrize("text", ["override MB-1 flaky", "override MB-1 flaky\nthanks"])
def test_a_reason_for_an_override_has_ten_characters(text: str) -> None:
    (found,) = commands_in(text, JOBS)
    assert isinstance(found, Misspelt)
    assert found.line == "override MB-1 flaky"
    assert "REASON has at least 10 characters" in found.expected


@pytest.mark.parametrize("word", ["known-failure", "Known-failure:", "known_failure", "known-failures"])
@pytest.mark.parametrize("job", ["", "kv_engine.linux "])
def test_a_word_of_its_own_makes_the_failures_known_and_is_no_part_of_the_reason(word: str, job: str) -> None:
    (found,) = commands_in(f"override {job}MB-37948 {word} the compiler of this pool", JOBS)
    assert found == OverrideCommand("MB-37948", "the compiler of this pool", job.strip(), is_known=True)


@pytest.mark.parametrize(
    "reason",
    [
        "known the compiler of this pool",
        "known intermittent failure",
        "known failure of the compiler",
        "known: the compiler of this pool",
        "a known-failure of linux",
    ],
)
def test_a_reason_that_begins_like_a_sentence_makes_nothing_known(reason: str) -> None:
    (found,) = commands_in(f"override MB-37948 {reason}", JOBS)
    assert found == OverrideCommand("MB-37948", reason)


@pytest.mark.parametrize("reason", ["", " flaky", " ..............."])
def test_a_known_failure_needs_a_reason_behind_its_word(reason: str) -> None:
    (found,) = commands_in(f"override MB-1 known-failure{reason}\nthanks", JOBS)
    assert isinstance(found, Misspelt)


def test_lengths_and_counts_are_limited() -> None:
    (override,) = commands_in("override MB-1 " + "x" * 10_000, JOBS)

    assert isinstance(override, OverrideCommand)
    assert len(override.reason) == MAX_REASON
    assert len(commands_in("recheck\n" * 100, JOBS)) == MAX_COMMANDS
    assert commands_in(f"accept {'x/' * 200} wanted\nthanks", JOBS) == ()
    assert commands_in(f"override https://{'x' * 500} flaky\nthanks", JOBS) == ()


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000,
        "recheck" + " " * 1_000_000,
        "recheck" + " " * 1_000_000 + "x",
        "\n" * 1_000_000,
        "`" * 1_000_000,
        "override " + "A1-" * 300_000,
        "override https://" + "x" * 1_000_000,
        'accept "' * 125_000,
        "accept " + "a" * 1_000_000 + " b",
    ],
    ids=lambda text: text[:12],
)
def test_a_megabyte_is_read_in_linear_time(text: str) -> None:
    started = time.process_time()

    commands_in(text, JOBS)

    assert time.process_time() - started < 5.0  # quadratic would be hours


LINES = st.one_of(
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from([*COMMANDS, "```", "> quoted", "", "recheck nothing"]),
)


@given(st.lists(LINES, max_size=40).map("\n".join), st.sets(st.sampled_from(JOBS)))
def test_any_message_can_be_parsed(text: str, jobs: set[str]) -> None:
    found = commands_in(text, jobs)

    assert len(found) <= MAX_COMMANDS
    wrong = [each for each in found if isinstance(each, Misspelt)]
    assert len(found) == 1 or all(each.line.startswith("override ") for each in wrong)
    for each in found:
        if isinstance(each, RecheckCommand):
            assert jobs.issuperset(each.jobs)
        repr(each).encode()


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_a_quoted_line_is_never_a_command(text: str) -> None:
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))

    assert commands_in(quoted, JOBS) == ()
