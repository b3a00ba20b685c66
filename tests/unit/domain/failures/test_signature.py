"""Signatures: failures that belong together, and failures that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.failures.signature import normalised, signature_of

SAME = [
    ("/src/lib/a.cc:12: no", "/home/u/workspace/kv/lib/a.cc:14: no"),
    (r"C:\jenkins\workspace\kv\a.cc(700): error C2440: 'x'",
     r"D:\ws\workspace\kv\a.cc(712): error C2440: 'x'"),
    ("cannot open /usr/lib/x86/libz.so", "cannot open /opt/z/libz.so"),
    ("connect to 127.0.0.1:11210 failed after 3.2 sec", "connect to 10.0.0.7:52122 failed after 17 s"),
    ("connect to localhost:11210", "connect to node1.example.com:8091"),
    ("connect to [::1]:11210", "connect to [fe80::1]:1"),
    ("port 11210 is in use", "port 52122 is in use"),
    ("==8==ERROR: at 0x60200000001c pc 0x55a8", "==1234==ERROR: at 0x602000abc01c pc 0x55aa"),
    ("(pid=12) thread T1", "(pid=7) thread T12"),
    ("what(): vb:512 seqno:17 not found", "what(): vb:3 seqno:99812 not found"),
    ("open /tmp/bench.AbC123: No space", "open /tmp/bench.XyZ9qq: No space"),
    ("uuid 550e8400-e29b-41d4-a716-446655440000 gone", "uuid 123e4567-e89b-12d3-a456-426614174000 gone"),
    ("at deadbeef01 and 3f2a99c0", "at 00112233aa and 99999c0f"),
    ("at 2020-02-24T16:13:57.042+00:00 no", "at 2021-12-01 01:02:03,5 no"),
    ("Feb 24 16:13:57 no", "Dec  1 01:02:03 no"),
    ("took 5 ms", "took 5.25 µs"),
    ("overflow: 2147483647 + 1", "overflow: -5 + 100"),
    ("‘x’ was not declared", "'x' was not declared"),
    ("\x1b[31mred\x1b[0m", "[NON-XML-CHAR-0x1B][31mred"),
    ("[2020-02-24T16:15:56.183Z]  54/208 Test  #54: no", "1/2 Test #1: no"),
    ("12: no", "7: no"),
    ("Expected equality of these values: x; Which is: 3; 4",
     "Expected equality of these values: x; Which is: 5; 4"),
    ("Expected: (a) < (b), actual: 3 vs 4", "Expected: (a) < (b), actual: 9 vs 4"),
    ("Expected: (a) < (b), actual: 3 vs 4; item 7", "Expected: (a) < (b), actual: 9 vs 4; item 8"),
    ("Expected: (a) < (b), actual: 3 vs 4; item (7)", "Expected: (a) < (b), actual: 9 vs 4; item (8)"),
    ("The difference between a and b is 3, which exceeds 1, where; a evaluates to 7,; item 3",
     "The difference between a and b is 4, which exceeds 1, where; a evaluates to 8,; item 4"),
    ("is_near(a, 1) evaluates to false, where; a evaluates to 7",
     "is_near(a, 1) evaluates to false, where; a evaluates to 8"),
    ("Value of: v; Expected: has 3 elements; Actual: { 1, 2 }; item 3",
     "Value of: v; Expected: has 3 elements; Actual: { 7 }; item 4"),
    ("Value of: f(); Actual: { 1, 2 }; Expected: is empty",
     "Value of: f(); Actual: { 7 }; Expected: is empty"),
    ("Value of: v; Expected: has 2 elements where; element #0 is equal to 1,; element #1 is odd",
     "Value of: v; Expected: has 2 elements where; element #0 is equal to 2,; element #1 is odd"),
    ("Value of: p; Expected: is equal to 0x5581a2b3c4d0; Actual: 0x0",
     "Value of: p; Expected: is equal to 0x55d1a0b3c4d0; Actual: 0x0"),
    ("Value of: port; Expected: is equal to 54321; Actual: 0",
     "Value of: port; Expected: is equal to 40111; Actual: 0"),
    ("Value of: v; Expected: has 2 elements where; element #0 is equal to 0x55a1,; element #1 is odd",
     "Value of: v; Expected: has 2 elements where; element #0 is equal to 0x55b2,; element #1 is odd"),
    ('Expected: (a) != (b), actual: "abc; def" vs "abc; d\\"; f"; lost',
     'Expected: (a) != (b), actual: "abc; xyz" vs "x/"; lost'),
    ('Expected equality of these values: x; Which is: { L"a; b", \';\' }; y',
     'Expected equality of these values: x; Which is: { L"c; d", \'d\' }; y'),
    ('is_near(a, 1) evaluates to false, where; a evaluates to "b; c"',
     'is_near(a, 1) evaluates to false, where; a evaluates to "d; e"'),
    ("array<char, 3>", "array<char, 4>"),
    ("at 20261123T040000Z no", "at 20261124T050001Z no"),
    ("Mon, 23 Nov 2026 04:00:00 GMT no", "Tue, 1 Dec 2026 05:00:00 GMT no"),
    ("1,234,567 items", "12 items"),
    ("used 12.3MB", "used 17.9MB"),
    ("W1123 04:00:00.123456 88 a.cc:12] x", "W1124 05:00:00.4 7 a.cc:14] x"),
    ("ld: /tmp/ccAbC123.o: not recognized", "ld: /tmp/ccqq77Zz.o: not recognized"),
    ("cannot write /tmp/main-1a2b3c.o", "cannot write /tmp/main-9f8e7d.o"),
    ("Check failed: x == 3 (4 vs. 3) in a.cc", "Check failed: x == 3 (7 vs. 3) in a.cc"),
    ("Expected: (a) < (3), actual: 4 vs 3", "Expected: (a) < (3), actual: 17 vs 3"),
    ("bad  allocation\tof", "bad allocation of"),
]  # fmt: skip
DIFFERENT = [
    ("error C2440: 'x'", "error C2039: 'x'"),
    ("fatal error LNK1120: 3 unresolved externals", "fatal error LNK1104: 3 unresolved externals"),
    ("int32_t overflow", "int64_t overflow"),
    ("no type T1", "no type T2"),
    ("no member m1", "no member m2"),
    ("data race: f (a.cc)", "data race: f (b.cc)"),
    ("cannot write /tmp/main-1a2b3c.o", "cannot write /tmp/util-1a2b3c.o"),
    ("undefined reference to `foo1()'", "undefined reference to `foo2()'"),
    ("exit code 134", "exit code 139"),
    ("exit code: 0xc0000005", "exit code: 0xc0000409"),
    ("Signal 6", "Signal 11"),
    ("HTTP 404", "HTTP 500"),
    ("HTTP/1.1 404", "HTTP/1.1 500"),
    ("errno 28", "errno 2"),
    ("status=1", "status=2"),
    ("error code -5", "error code -6"),
    ("warning: [bugprone-a]", "warning: [bugprone-b]"),
    ("Expected equality of these values: x; 4", "Expected equality of these values: y; 4"),
    ("Expected: is empty", "Expected: is not empty"),
    ("lib/a.cc:1: no", "test/a.cc:1: no"),
    ("Expected equality of these values: x; 4", "Expected equality of these values: x; 5"),
    ("Expected equality of these values: v[0]; 4", "Expected equality of these values: v[1]; 4"),
    ("Expected: (a) < (3), actual: 4 vs 3", "Expected: (a) < (4), actual: 4 vs 4"),
    ("Expected: (a) < (b), actual: 3 vs 4; in order", "Expected: (a) < (b), actual: 3 vs 4; in time"),
    ("Value of: f(3); Actual: false; Expected: true", "Value of: f(4); Actual: false; Expected: true"),
    ("Value of: v; Expected: has 3 elements", "Value of: v; Expected: has 4 elements"),
    ("Value of: v; Expected: has 2 elements where; element #0 is odd,; element #1 is odd",
     "Value of: v; Expected: has 2 elements where; element #1 is odd,"),
    ("Value of: v; Expected: has a size that is equal to 3; Actual: {}",
     "Value of: v; Expected: has a size that is equal to 4; Actual: {}"),
    ('Expected: (a) != (b), actual: "x; y" vs "x; y"; in "order"; "1"',
     'Expected: (a) != (b), actual: "x; y" vs "x; y"; in "time"; "1"'),
    (f'Expected equality of these values: x; Which is: "{"a" * 9}…; f("b")',
     f'Expected equality of these values: x; Which is: "{"a" * 9}…; f("c")'),
    ('Value of: x; Actual: 5" wide; Expected: f("b")', 'Value of: x; Actual: 5" wide; Expected: f("c")'),
    ("Death test: f(1); Result: failed to die.", "Death test: f(2); Result: failed to die."),
    ('Death test: f(); Expected: contains regular expression "e 1"; Actual msg:',
     'Death test: f(); Expected: contains regular expression "e 2"; Actual msg:'),
    ("Actual function call count doesn't match EXPECT_CALL(s, f())...; Expected: to be called 2 times",
     "Actual function call count doesn't match EXPECT_CALL(s, f())...; Expected: to be called 3 times"),
    ("The difference between a and b is 3, which exceeds 1, where; a evaluates to 7",
     "The difference between a and b is 3, which exceeds 2, where; a evaluates to 7"),
    ("is_near(a, 1) evaluates to false, where; a evaluates to 7",
     "is_near(a, 2) evaluates to false, where; a evaluates to 7"),
    ("Assertion `n < 10' failed in a.cc", "Assertion `n < 100' failed in a.cc"),
    ("Check failed: x == 3 (4 vs. 3) in a.cc", "Check failed: x == 4 (3 vs. 4) in a.cc"),
    ("REQUIRE( x == 3 )", "REQUIRE( x == 4 )"),
    ("./run exited with 3", "./run exited with 4"),
    ("exit value 1", "exit value 2"),
    ("rc=3", "rc=4"),
    ("step failed (2)", "step failed (5)"),
    ("No such file (os error 2)", "No space (os error 28)"),
    ("[WinError 5] no", "[WinError 6] no"),
    ("GetLastError() = 5", "GetLastError() = 6"),
    ("curl: (6) no", "curl: (7) no"),
    ("system:111", "system:104"),
    ("HTTP/2 404", "HTTP/2 503"),
    ("statusCode=404", "statusCode=500"),
    ("libz.so.1: not found", "libz.so.2: not found"),
    ("python3.11: not found", "python3.12: not found"),
    ("runtime error: index N out of bounds for type 'int [3]'",
     "runtime error: index N out of bounds for type 'int [4]'"),
    ("x" * 400 + "a", "x" * 400 + "b"),
]  # fmt: skip


def of(headline: str, kind: FailureKind = FailureKind.TEST, subject: str = "A.b") -> bytes:
    return signature_of(Failure(kind, subject, headline)).digest


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_texts_of_one_failure_have_one_signature(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert of(one) == of(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_of_two_failures_have_two_signatures(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)
    assert of(one) != of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error: 'std::array<int, 3>' has no x", "error: 'std::array<int, 4>' has no x"),
        ("error: cannot convert 'S<1>' to 'S<2>'", "error: cannot convert 'S<1>' to 'S<3>'"),
        ("error: static assertion failed: sizeof(x) == 8", "error: static assertion failed: sizeof(x) == 16"),
        ("error: 'feedf00d1' was not declared", "error: 'cafebabe1' was not declared"),
    ],
)
def test_the_code_that_a_compiler_quotes_is_kept(one: str, other: str) -> None:
    assert of(one, FailureKind.COMPILE) != of(other, FailureKind.COMPILE)


NAMES = st.from_regex(r"\A[g-z][a-z]{0,5}_?[0-9]{0,4}\Z")  # others may look hexadecimal
EXPRESSIONS = st.tuples(
    NAMES, st.sampled_from(["==", "!=", "<", "<=", ">"]), NAMES | st.integers().map(str)
).map(" ".join)
RUNS = st.tuples(
    st.integers(1, 10**6),
    st.integers(1024, 65535),
    st.text("0123456789abcdef", min_size=12, max_size=12),
    st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789", min_size=6, max_size=6),
    st.floats(0.001, 1e4).map("{:.3f}".format),
    st.datetimes().map(lambda at: at.isoformat(sep=" ")),
)
WAYS = (
    "{{}} with pid {0} on 127.0.0.1:{1}",
    "{2} {{}} after {4} s",
    "{5} {{}} in /tmp/test.{3}/db",
    "{{}} (thread 0x{2}, port {1}, took {4}ms)",
    "{{}}: /home/u/workspace/w{0}/src/a.cc:{0}: at 0x{2}",
)


@given(st.sampled_from(WAYS), RUNS, RUNS, st.sampled_from(["lost the lock", "vb_7 is dead", "T1 hangs"]))
def test_a_failure_does_not_fall_apart_over_its_reruns(
    way: str, first: tuple[object, ...], again: tuple[object, ...], what: str
) -> None:
    assert of(way.format(*first).format(what)) == of(way.format(*again).format(what))


@given(
    st.sampled_from(
        [
            (FailureKind.CRASH, "Assertion `{}' failed in a.cc"),
            (FailureKind.CRASH, "Check failed: {} in a.cc"),
            (FailureKind.TEST, "Value of: {}; Actual: false; Expected: true"),
            (FailureKind.TEST, "Expected equality of these values: {}; Which is: 7; 4"),
            (FailureKind.TEST, "REQUIRE( {} )"),
        ]
    ),
    EXPRESSIONS,
    EXPRESSIONS,
)
def test_two_expressions_never_fall_together(way: tuple[FailureKind, str], one: str, other: str) -> None:
    kind, text = way
    assert (of(text.format(one), kind) == of(text.format(other), kind)) == (one == other)


@given(
    st.sampled_from(
        ["exit code {}", "exited with {}", "signal {}", "errno {}", "errno={}", "(os error {})", "rc={}",
         "error {}", "HTTP {}", "status: {}", "[WinError {}] x", "returned {}", "exit status {}",
         "return code: {}"]
    ),
    st.integers(-255, 70000),
    st.integers(-255, 70000),
)  # fmt: skip
def test_two_exit_codes_never_fall_together(way: str, one: int, other: int) -> None:
    assert (of(way.format(one)) == of(way.format(other))) == (one == other)


@given(NAMES, NAMES, st.sampled_from(list(FailureKind)))
def test_two_subjects_never_fall_together(one: str, other: str, kind: FailureKind) -> None:
    assert (of("no", kind, one) == of("no", kind, other)) == (one == other)


@given(
    NAMES,
    NAMES,
    st.sampled_from(["undefined symbol {}", "no member named '{}'", "data race: {} (a.cc)", "{}.cc:1: x"]),
)
def test_two_names_never_fall_together(one: str, other: str, way: str) -> None:
    assert (of(way.format(one)) == of(way.format(other))) == (one == other)


def test_a_text_reads_well() -> None:
    """People see it on the page of a known failure."""
    assert normalised("it doesn’t match ‘x’ after 3.2 s") == 'it doesn\'t match "x" after D'


def test_a_subject_is_kept_with_its_digits() -> None:
    assert of("Failed", subject="P.Even/0") != of("Failed", subject="P.Even/1")


def test_the_kind_is_part_of_a_signature() -> None:
    assert of("no", FailureKind.TEST) != of("no", FailureKind.CRASH)


@pytest.mark.parametrize(
    ("kind", "headline", "text"),
    [
        (FailureKind.CRASH, "SegFault", "segmentation fault"),
        (FailureKind.CRASH, "SIGSEGV", "segmentation fault"),
        (
            FailureKind.CRASH,
            "terminate: std::runtime_error: boom 42",
            "terminate: std::runtime_error: boom N",
        ),
        (FailureKind.TIMEOUT, "stopped after 600 s", "timeout"),
        (FailureKind.MEMORY, "std::bad_alloc", "out of memory"),
    ],
)
def test_a_signal_a_time_out_and_lack_of_memory_are_the_word_alone(
    kind: FailureKind, headline: str, text: str
) -> None:
    assert signature_of(Failure(kind, "A.b", headline)).text == text


def test_a_digest_never_changes_by_accident() -> None:
    """Known failures are stored by it: a new version of the rules must be meant."""
    assert of("/src/a.cc:12: no").hex()[:16] == "1b7ebfb468eb81e7"


@given(st.text(max_size=300))
def test_any_text_has_a_signature_of_bounded_length(text: str) -> None:
    signature = signature_of(failure_of(FailureKind.TEST, text, text))
    assert len(signature.text) <= 300
    assert len(signature.digest) == 32


@pytest.mark.parametrize(
    "part", ["1:", "/a", "0x", "a.", "1.", "[:", "code 1 ", "..", "==1==", "Which is: ", "\xff"]
)
def test_a_hostile_text_of_a_megabyte_has_a_signature(part: str) -> None:
    text = part * ((1 << 20) // len(part))
    assert len(signature_of(Failure(FailureKind.TEST, "a", text)).text) <= 300


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_a_separate_number_does_not_matter_but_one_in_a_name_does(one: int, other: int) -> None:
    assert of(f"found {one} items") == of(f"found {other} items")
    assert (of(f"call of foo{one}()") == of(f"call of foo{other}()")) == (one == other)


COUNT = (
    "Actual function call count doesn't match EXPECT_CALL(m, put(_))...\n"
    "         Expected: to be called once\n           Actual: "
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            'Expected: f() doesn\'t throw an exception.\n  Actual: it throws E with description "disk".',
            'Expected: f() doesn\'t throw an exception.\n  Actual: it throws E with description "net".',
        ),
        (
            "Expected: f() throws an exception of type E.\n  Actual: it throws nothing.",
            "Expected: f() throws an exception of type E.\n  Actual: it throws a different type.",
        ),
        (
            "Value of: IsUp(node)\n  Actual: false (disk full)\nExpected: true",
            "Value of: IsUp(node)\n  Actual: false (no network)\nExpected: true",
        ),
        (
            f"{COUNT}never called - unsatisfied and active",
            f"{COUNT}called twice - over-saturated and active",
        ),
    ],
)
def test_the_reason_that_an_assertion_gives_is_no_value(one: str, other: str) -> None:
    assert text_of(one) != text_of(other)


def text_of(headline: str) -> str:
    return signature_of(Failure(FailureKind.TEST, "NodeTest.Up", headline)).text


def test_more_calls_than_allowed_are_one_failure_however_many() -> None:
    calls = [f"{COUNT}called {count} - over-saturated and active" for count in ("twice", "7 times")]
    assert text_of(calls[0]) == text_of(calls[1])
