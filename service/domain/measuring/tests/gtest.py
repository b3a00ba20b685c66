"""Read the results of a GoogleTest program: its JSON, or its output if it crashed."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from service.domain.failures.failure import NO_END
from service.domain.measuring.tests.cases import (
    MAX_BYTES,
    MOST_CASES,
    Cases,
    CaseStatus,
    OtherReason,
    TestRun,
    case_of,
    with_reason,
)
from service.domain.values.errors import BadResults
from service.domain.values.text import ESCAPE_SEQUENCE, LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from service.domain.measuring.tests.cases import TestCase


_MOST_VALUES: Final = 50 * MOST_CASES  # five times what that many cases have; 350 MiB when decoded
_REASON_LINES: Final = 10  # kept of the reason of a skip
_MOST_LINES: Final = 1_000_000  # parsed of the output; ten per case
_MARK: Final = re.compile(r"\[ *(RUN|OK|FAILED|SKIPPED) *\] ([^\s,]+)(.*)")
_DURATION: Final = re.compile(r" \((\d{1,9}) ms\)$")
_SKIP_PLACE: Final = re.compile(r"(.+):\d+: Skipped$")
_SECONDS: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_PLACE: Final = re.compile(r"([^\n]+?):(-?\d{1,9})\n")
_UNKNOWN_FILE: Final = "unknown file\n"


def read_gtest(data: bytes, output: bytes) -> TestRun:
    """Read the results of a GoogleTest program in linear time.

    Args:
        data: the file that ``--gtest_output=json`` wrote; empty if the program crashed and wrote none.
        output: the program's output: it has the reasons of skips, and the results if there is no file.

    Raises:
        BadResults: the file is damaged or too large, or there is none and the output names no test.
    """
    if len(data) > MAX_BYTES:
        raise BadResults(f"it has {len(data)} bytes; at most {MAX_BYTES} are read")
    if data.strip():
        found = _run_of(_cases_in(_decoded(data)))
        reasons = (
            _skip_reasons(output) if any(each.status is CaseStatus.SKIPPED for each in found.cases) else {}
        )
        cases = tuple(
            with_reason(case, reasons[case.name]) if case.name in reasons else case for case in found.cases
        )
        return TestRun(cases, found.is_cut)
    found = _run_of(_cases_of_output(output))
    if not found.cases:
        raise BadResults("the program wrote no results, and its output names no test")
    return found


def _run_of(cases: Iterable[TestCase]) -> TestRun:
    kept = Cases()
    for case in cases:
        kept.add(case)
    return kept.run()


def _decoded(data: bytes) -> Any:  # noqa: ANN401 - the shapes are checked by matching
    if sum(data.count(mark) for mark in (b",", b"{", b"[")) > _MOST_VALUES:
        raise BadResults(f"it has more than {_MOST_VALUES} values")
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise BadResults(f"byte {error.start}: it is not UTF-8") from None
    except RecursionError:
        raise BadResults("it is nested too deeply") from None
    except ValueError as error:
        at = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise BadResults(f"{at}it is not JSON") from None


def _cases_in(document: object) -> Iterator[TestCase]:
    match document:
        case {"testsuites": list(suites)}:
            pass
        case _:
            raise BadResults("it has no testsuites; is it what --gtest_output=json wrote?")
    for suite in suites:
        match suite:
            case {"name": str(group), "testsuite": list(tests)}:
                for test in tests:
                    yield _case(group, test)
            case _:
                raise BadResults("one of its testsuites has no name or no list of tests")


def _case(group: str, test: object) -> TestCase:
    match test:
        case {"name": str(name), "status": str(status), **more}:
            pass
        case _:
            raise BadResults("one of its tests has no name or no status")
    owner = more.get("classname")
    full = f"{owner if isinstance(owner, str) else group}.{name}"
    match more.get("failures"):
        case [{"failure": str(first)}, *others]:
            message, place = _message(first)
            texts = (each["failure"] for each in others if isinstance(each, dict) and "failure" in each)
            found = (OtherReason(*_message(text)) for text in texts if isinstance(text, str))
            return case_of(full, CaseStatus.FAILED, _seconds(more.get("time")), message, place, found)
        case None | []:
            pass
        case _:
            return case_of(full, CaseStatus.FAILED, _seconds(more.get("time")))
    return case_of(full, _status(status, str(more.get("result", "COMPLETED"))), _seconds(more.get("time")))


def _status(status: str, result: str) -> CaseStatus:
    match status.upper(), result.upper():
        case "RUN", "COMPLETED":
            return CaseStatus.PASSED
        case "RUN", "SKIPPED":
            return CaseStatus.SKIPPED
        case "NOTRUN", _:
            return CaseStatus.DISABLED
    return CaseStatus.NOT_RUN


def _message(failure: str) -> tuple[str, str]:
    """Split the text of a failure into message and place; an exception has no place."""
    if failure.startswith(_UNKNOWN_FILE):
        return failure.removeprefix(_UNKNOWN_FILE), ""
    place = _PLACE.match(failure)
    return (failure[place.end() :], f"{place[1]}:{place[2]}") if place else (failure, "")


def _seconds(value: object) -> float:
    found = _SECONDS.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) if found else 0.0


def _cases_of_output(output: bytes) -> Iterator[TestCase]:
    """Yield the tests that ended, and as failed the one during which the program ended."""
    ends = {"OK": CaseStatus.PASSED, "FAILED": CaseStatus.FAILED, "SKIPPED": CaseStatus.SKIPPED}
    current = ""
    for line in _lines(output):
        if not (mark := mark_in(line)):
            continue
        kind, name, milliseconds = mark
        if kind == "RUN":
            if current:
                yield case_of(current, CaseStatus.FAILED, 0, NO_END)
            current = name
        elif name == current:
            yield case_of(name, ends[kind], milliseconds / 1000)
            current = ""
    if current:
        yield case_of(current, CaseStatus.FAILED, 0, NO_END)


def _skip_reasons(output: bytes) -> dict[str, str]:
    """Find the reasons that the output gives for skips, by test."""
    reasons: dict[str, str] = {}
    reason: list[str] | None = None
    for line in _lines(output):
        mark = mark_in(line)
        if mark and mark[0] == "SKIPPED" and reason:
            reasons.setdefault(mark[1], "\n".join(reason))
        if mark:
            reason = None
        elif _SKIP_PLACE.match(line):
            reason = []
        elif reason is not None and len(reason) < _REASON_LINES:
            reason.append(line)
    return reasons


def mark_in(line: str) -> tuple[str, str, int] | None:
    """Parse the event, test and milliseconds of a line; None for any other line."""
    if "[" not in line or not (found := _MARK.search(line)):
        return None
    kind, name, rest = found.groups()
    duration = _DURATION.search(rest)
    parameters = rest[: duration.start()] if duration else rest
    is_mark = not parameters or parameters.startswith(",")
    return (kind, name, int(duration[1]) if duration else 0) if is_mark else None


def _lines(output: bytes) -> Iterator[str]:
    begin, ended = 0, False
    for _ in islice(iter(int, 1), _MOST_LINES):
        end = output.find(b"\n", begin)
        ended = end == -1
        line = output[begin : min(len(output) if ended else end, begin + LINE_BYTES)]
        yield ESCAPE_SEQUENCE.sub("", line.decode(errors="replace")).rstrip()
        if ended:
            return
        begin = end + 1
