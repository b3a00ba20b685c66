"""Messages of GoogleTest's assertions: the text of the author tells two assertions apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.naming import names_cause
from service.domain.failures.output.assertions import headline_of
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import Signature, signature_of
from service.domain.measuring.tests.failed import failures_of
from service.domain.measuring.tests.gtest import read_gtest

if TYPE_CHECKING:
    from collections.abc import Callable

EQUAL = "Expected equality of these values:\n  x\n    Which is: {}\n  4"
COMPARED = "Expected: (a) < (b), actual: {} vs 4"
TRUE = "Value of: is_open\n  Actual: false\nExpected: true"
NEAR = "The difference between a and b is {}, which exceeds 2, where\na evaluates to 7,\nb evaluates to 9."
DIFFERENCE = (
    'Expected equality of these values:\n  x\n    Which is: "a\\nb"\n  y\nWith diff:\n@@ -1,2 @@\n a\n-{}\n+c'
)
MATCHER = (
    "Value of: x\nExpected: has 2 elements where\nelement #0 is {},\nelement #1 is odd\n  Actual: {{ 1 }}"
)
DEATH = "Death test: f()\n    Result: failed to die.\n Error msg:\n[  DEATH   ] pid {} lives\n[  DEATH   ] "
IGNORING = 'Expected equality of these values:\n  x\n    Which is: "{}"\n  "b"\nIgnoring case'
TRACE = "Google Test trace:\n/src/t.cpp:{}: in the second round"
MESSAGES = (EQUAL, COMPARED, TRUE, NEAR, DIFFERENCE, MATCHER, DEATH, IGNORING)


def in_log(message: str, rest: str = "") -> list[Failure]:
    log = f"[ RUN      ] A.b\nt.cpp:4: Failure\n{message}\n{rest}[  FAILED  ] A.b (0 ms)\n"
    return list(failures_in(log.encode().splitlines()))


def of_log(message: str, rest: str = "") -> Signature:
    [failure] = in_log(message, rest)
    return signature_of(failure)


def of_json(message: str) -> Signature:
    case = {"name": "b", "status": "RUN", "failures": [{"failure": f"t.cpp:4\n{message}"}]}
    suites = {"testsuites": [{"name": "A", "testsuite": [case]}]}
    [failure] = failures_of(read_gtest(json.dumps(suites).encode(), b""))
    return signature_of(failure)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("read", [of_log, of_json])
def test_two_texts_of_authors_are_two_signatures(message: str, read: Callable[[str], Signature]) -> None:
    first = read(f"{message.format(3)}\nafter the restart")
    assert first == read(f"{message.format(3)}\nafter the restart")
    assert first != read(f"{message.format(3)}\nbefore the restart")
    assert first != read(message.format(3))


@pytest.mark.parametrize("message", [EQUAL, COMPARED, NEAR, MATCHER, DEATH, IGNORING])
def test_numbers_and_values_are_in_no_signature(message: str) -> None:
    one, other = f"{message.format(3)}\nitem 7 of 9", f"{message.format(17)}\nitem 12 of 40"
    assert of_log(one) == of_log(other) == of_json(one) == of_json(other)


@pytest.mark.parametrize("message", [*MESSAGES, "Failed", "Unexpected mock function call"])
@pytest.mark.parametrize("text", ["", "\nafter the restart", f"\nlost\n{TRACE}", f"\n{TRACE}"])
def test_the_output_and_the_results_give_one_signature(message: str, text: str) -> None:
    whole = message.format(3) + text.format(9)
    assert of_log(whole) == of_json(whole)


def test_a_trace_tells_two_calls_of_one_helper_apart() -> None:
    first = of_log(f"{TRUE}\n{TRACE}".format(9))
    assert first == of_log(f"{TRUE}\n{TRACE}".format(12))
    assert first != of_log(f"{TRUE}\n{TRACE}".format(9).replace("second", "third"))


def test_the_headline_has_the_whole_text() -> None:
    assert headline_of(f"{TRUE}\nafter the restart\nof the node\n  x".split("\n")) == (
        "Value of: is_open; Actual: false; Expected: true; after the restart; of the node; x"
    )
    assert headline_of(["Failed", "these are open:", "  a", "b"]) == "these are open: a; b"
    assert headline_of(DIFFERENCE.format("b").split("\n")) == (
        'Expected equality of these values: x; Which is: "a\\nb"; y'
    )


@pytest.mark.parametrize("message", [TRUE, "Failed"])
@pytest.mark.parametrize("end", ["\n", TRACE.format(3) + "\n"])
def test_a_text_with_a_known_end_counts_as_a_whole(message: str, end: str) -> None:
    first = of_log(f"{message}\nlost:\n  a", end)
    assert first == of_log(f"{message}\nlost:\n  a", f"{end}and\nmore\n")
    assert first == of_json(f"{message}\nlost:\n  a\n{end}".strip())
    assert first != of_log(f"{message}\nlost:\n  b", end)


@pytest.mark.parametrize("message", [TRUE, "Failed"])
def test_only_the_first_line_of_a_text_without_an_end_counts(message: str) -> None:
    """The lines behind it may be those of the program, and differ each time."""
    assert of_log(f"{message}\nlost", "closing a\n") == of_log(f"{message}\nlost", "closing b\n")
    assert of_log(f"{message}\nlost", "a\n" * 9 + "\n") == of_log(f"{message}\nlost", "b\n" * 9 + "\n")


def test_a_long_value_leaves_place_for_the_text() -> None:
    for message in (EQUAL, COMPARED):
        whole = f"{message.format('é' * 3000)}\n{{}} the restart"
        assert of_log(whole.format("after")) != of_log(whole.format("before"))


@pytest.mark.parametrize(
    "line",
    [
        "I20260601 11:14:03.120 4711 cache.cc:88] trimming",
        "[2026-06-01 11:14:03.120] [info] trimming",
        "11:14:03 trimming",
        "==4711== trimming",
        "Stack trace:",
        "",
    ],
)
def test_a_line_of_a_log_is_no_text_of_the_author(line: str) -> None:
    assert of_log(TRUE, f"{line}\nand more\n") == of_json(TRUE)


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("terminate called after throwing an instance of 'X'\n  what():  lost\n", FailureKind.CRASH),
        ("/src/a.cc:3: f(): Assertion `x' failed.\n", FailureKind.CRASH),
        ("Segmentation fault (core dumped)\n", FailureKind.CRASH),
        ("/src/a.cc:3:4: runtime error: signed integer overflow\n", FailureKind.SANITIZER),
        (
            "==7==ERROR: AddressSanitizer: SEGV on unknown address\n    #0 0x1 in f /src/a.cc:3\n\n",
            FailureKind.SANITIZER,
        ),
        ("t.cpp:9: Failure\nFailed\nsecond\n", FailureKind.TEST),
    ],
)
def test_a_failure_behind_an_assertion_is_no_text_of_it(rest: str, kind: FailureKind) -> None:
    found = in_log(TRUE, rest)
    assert len(found) == 2
    assert kind in [failure.kind for failure in found]
    assert of_json(TRUE) in map(signature_of, found)


def test_a_message_of_many_lines_is_cut() -> None:
    lines = ["Value of: x", *(f"  {letter}" for letter in "abcdefghijklmnopqrstuvwxyz" * 3)]
    assert len(headline_of(lines)) < 200


@pytest.mark.parametrize("called", ["write(3, 0x7f12, 512)", "read(3, 0x7f12, 512)"])
def test_the_call_that_gmock_did_not_expect_is_named_below_a_blank_line(called: str) -> None:
    lines = f"\nUnexpected mock function call - returning directly.\n    Function call: {called}\n"
    log = f"[ RUN      ] A.b\nunknown file: Failure\n{lines}[  FAILED  ] A.b (0 ms)\n"
    failures = list(failures_in(log.encode().splitlines()))
    assert [each.headline for each in failures] == [
        f"Unexpected mock function call - returning directly.; Function call: {called}"
    ]


@pytest.mark.parametrize(
    ("opening", "headline"),
    [
        (
            'unknown file: error: C++ exception with description "boom"',
            'C++ exception with description "boom"',
        ),
        ("t.cpp(4): error: Failed", "Failed"),
        ("t.cpp:4: Failure", "Failed"),
    ],
)
def test_a_blank_line_ends_any_other_message(opening: str, headline: str) -> None:
    log = f"[ RUN      ] A.b\n{opening}\n\nconnection pool alpha closed\n[  FAILED  ] A.b (0 ms)\n"
    [failure] = failures_in(log.encode().splitlines())
    assert failure.headline == headline


def test_a_message_may_begin_below_the_word_error() -> None:
    lines = "t.cpp(4): error:\nValue of: is_open\n  Actual: false\nExpected: true\n"
    [failure] = failures_in(f"[ RUN      ] A.b\n{lines}[  FAILED  ] A.b (0 ms)\n".encode().splitlines())
    assert (failure.place, failure.headline) == (
        "t.cpp:4",
        "Value of: is_open; Actual: false; Expected: true",
    )


def test_a_signature_has_what_a_matcher_says_without_its_values() -> None:
    values = "Value of: x\nExpected: has size that is equal to 2\n  Actual: {}"
    order = of_log(values.format("{ 2, 1 }, whose element #0 doesn't match"))
    assert order == of_log(values.format("{ 7, 1 }, whose element #1 doesn't match"))
    assert order.text.endswith("; whose element doesn't match")
    assert names_cause(order, "Failure of a GoogleTest test A.b")
    assert order != of_log(values.format("{ 2 }, which has 1 element"))
    assert of_log(values.format("{ a, which b }")) == of_log(values.format("{ c }"))
    field = of_log(values.format('{ 2 }, whose given field is "session-1"'))
    assert field == of_log(values.format('{ 2 }, whose given field is "session-kfje"'))
