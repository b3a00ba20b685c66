"""Signatures that name their cause, and those that a person compares before they waive a failure."""

from __future__ import annotations

import pytest

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.naming import names_cause
from service.domain.failures.signature import signature_of

OF_A_TEST = "Failure of a CTest test 3/9 Test #3: cache.evict"


def is_named(kind: FailureKind, subject: str, headline: str, line: str = "") -> bool:
    failure = Failure(kind, subject, headline, line)
    return names_cause(signature_of(failure), failure.line)


@pytest.mark.parametrize(
    "headline",
    [
        "Expected equality of these values:\n  x.size()\n    Which is: 3\n  4",
        "Expected: (lag) < (limit), actual: 7 vs 5",
        "Value of: cache.empty()\n  Actual: false\nExpected: true",
        "Value of: items\nExpected: has 3 elements\n  Actual: { 1, 2 }",
        "Actual function call count doesn't match EXPECT_CALL(sink, close())...",
        "Expected: f() throws an exception of type E.\n  Actual: it throws nothing.",
        "Failed: REQUIRE( x == 3 )",
        "Check failed: size < 10 (12 vs. 10)",
    ],
)
def test_an_expression_of_a_test_counts_whatever_its_values_were(headline: str) -> None:
    assert is_named(FailureKind.TEST, "CacheTest.Evict", headline)


@pytest.mark.parametrize(
    "headline",
    [
        "Failed: tests/cache_test.cc:12: gave up",
        "Value of: ok\nGoogle Test trace:\ntests/cache_test.cc:7: put",
    ],
)
def test_the_number_of_a_line_is_no_lost_value(headline: str) -> None:
    assert is_named(FailureKind.TEST, "CacheTest.Evict", headline)


@pytest.mark.parametrize(
    ("kind", "subject", "headline"),
    [
        (FailureKind.COMPILE, "src/ring.cc", "error: no member named 'depth'"),
        (FailureKind.FORMAT, "src/ring.h", "code should be clang-formatted"),
        (FailureKind.CONFIGURE, "CMakeLists.txt", "Could NOT find ZLIB"),
        (FailureKind.CRASH, "ring_bench", "Assertion `size < 10' failed in src/ring.cc"),
        (FailureKind.SANITIZER, "", "ThreadSanitizer: data race in kv::Cache::put(int)"),
        (FailureKind.SANITIZER, "", "LeakSanitizer: leak: kv::copy (block.cc)"),
    ],
)
def test_other_tools_name_a_place_or_a_function(kind: FailureKind, subject: str, headline: str) -> None:
    assert is_named(kind, subject, headline)


@pytest.mark.parametrize(
    ("kind", "headline"), [(FailureKind.TIMEOUT, "timeout"), (FailureKind.MEMORY, "out of memory")]
)
def test_the_end_of_a_test_counts_and_that_of_a_program_is_compared(kind: FailureKind, headline: str) -> None:
    assert is_named(kind, "cache.evict", headline, OF_A_TEST)
    assert not is_named(kind, "cache_bench", headline, f"{kind}: cache_bench: {headline}")


@pytest.mark.parametrize(
    "headline", ["segmentation fault", "terminate: std::exception: cache_test.cc:12: gave up"]
)
def test_two_crashes_of_a_test_may_have_two_causes(headline: str) -> None:
    assert not is_named(FailureKind.CRASH, "cache.evict", headline, OF_A_TEST)


def test_the_same_words_of_a_test_count() -> None:
    assert is_named(FailureKind.TEST, "cache.evict", "Failed", OF_A_TEST)
    assert is_named(FailureKind.TEST, "cache.evict", "Failed: the server gave up", OF_A_TEST)


@pytest.mark.parametrize("headline", ["Expected equality of these values:", "Value of:"])
def test_a_message_of_googletest_that_was_not_read_to_its_end_is_compared(headline: str) -> None:
    assert not is_named(FailureKind.TEST, "Cache.Evict", headline, "Failure of a GoogleTest test Cache.Evict")


@pytest.mark.parametrize("line", ["Failure of a GoogleTest test cache.evict", "FAIL: cache.evict"])
def test_a_message_of_another_framework_that_was_not_understood_is_compared(line: str) -> None:
    assert not is_named(FailureKind.TEST, "cache.evict", "Failed", line)


@pytest.mark.parametrize("headline", ["Failed: waited 17 ms", "Failed: no answer on port 11210"])
def test_times_and_addresses_differ_in_each_build(headline: str) -> None:
    assert is_named(FailureKind.TEST, "cache.evict", headline, OF_A_TEST)


@pytest.mark.parametrize(
    "headline",
    [
        "Failed: assert x == 3",
        "Failed: replica 2 is 17 items behind",
        'C++ exception with description "2 keys are missing" thrown in the test body.',
        "Expected equality of these values:\n  x\n    Which is: 3\n  4\nshard 1",
        "Value of: items\nExpected: has 2 elements where\nelement #0 is equal to 1\n  Actual: { 2 }",
        "Value of: items\nExpected: contains at least one element that is > 7\n  Actual: { 1, 2 }",
    ],
)
def test_words_that_lost_a_number_are_compared(headline: str) -> None:
    """The number may be all that tells two faults of a test apart."""
    assert not is_named(FailureKind.TEST, "cache.evict", headline, OF_A_TEST)


@pytest.mark.parametrize(
    ("kind", "subject", "headline"),
    [
        (FailureKind.LINK, "kv::Cache::put(int)", "undefined reference"),
        (FailureKind.LINK, "", 'fatal error LNK1104: cannot open file "snappy.lib"'),
        (FailureKind.MEMORY, "cc1plus", "out of memory"),
        (FailureKind.CONFIGURED, "", "disk: No space left on device"),
        (FailureKind.SANITIZER, "", "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2"),
    ],
)
def test_programs_and_machines_are_compared(kind: FailureKind, subject: str, headline: str) -> None:
    assert not is_named(kind, subject, headline)


@pytest.mark.parametrize(
    "subject", ["src/ring.h", "ring.hpp", "stl_uninitialized.h", "/usr/include/c++/13/vector"]
)
def test_an_error_in_a_header_is_compared(subject: str) -> None:
    """The cause may be in a file that includes it."""
    assert not is_named(FailureKind.COMPILE, subject, "error: static assertion failed: result type")
