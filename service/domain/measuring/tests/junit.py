"""Read JUnit XML as CTest and others write it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from service.domain.measuring.tests.cases import (
    MAX_BYTES,
    MOST_CASES,
    MOST_OTHERS,
    Cases,
    CaseStatus,
    OtherReason,
    case_of,
)
from service.domain.values.errors import BadResults, bad_line
from service.domain.values.text import ESCAPE_SEQUENCE, brief
from service.domain.values.xml import XmlParser

if TYPE_CHECKING:
    from service.domain.measuring.tests.cases import TestCase, TestRun

_DEEPEST: Final = 100  # nested elements; the format has five
_MOST_ELEMENTS: Final = 20 * MOST_CASES  # a case with properties and texts has fewer
_MOST_SEEN: Final = 2 * MOST_CASES  # of these, failed ones are kept; read in seconds
_MOST_ATTRIBUTES: Final = 1000  # per element; the format has ten
_TOO_MANY: Final = f"an element has more than {_MOST_ATTRIBUTES} attributes"
_PIECE: Final = 1 << 20  # bytes parsed at once
# Bytes of a tag or comment, which may have a message of megabytes. Expat buffers all of it, and scans it
# again for each piece.
_LONGEST: Final = 8 << 20
_TAG: Final = re.compile(rb"<[^\s<>/=]+")
_ATTRIBUTE: Final = re.compile(rb"\s+[^\s=<>]+\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_KEPT: Final = 4000  # characters of a text, its last ones
# CTest's encoding of control characters.
_NOT_XML: Final = re.compile(r"\[NON-XML-CHAR-0x([0-9A-F]{1,2})\]")
_SKIPPED_BY_ITSELF: Final = re.compile(r"SKIP_(?:RETURN_CODE|REGULAR_EXPRESSION)")
_PLACE: Final = re.compile(r"([^\s:][^\n:]*:\d+)\n")  # first line of a message of GoogleTest
_ROOTS: Final = frozenset({"testsuite", "testsuites"})
_FAILURES: Final = frozenset({"failure", "error"})
_TEXTS: Final = _FAILURES | {"skipped", "system-out"}


class Dialect(StrEnum):
    """Program that wrote a file: the meaning of some elements depends on it."""

    CTEST = "ctest"  # `skipped` also marks a test without its program
    GENERIC = "generic"


def read_junit(data: bytes, dialect: Dialect) -> TestRun:
    """Read JUnit XML in linear time.

    Raises:
        BadResults: it is not complete JUnit XML, too large, nested too deeply, or has a document type.
    """
    if len(data) > MAX_BYTES:
        raise BadResults(f"it has {len(data)} bytes; at most {MAX_BYTES} are read")
    if not data.strip():
        raise BadResults("it is empty")
    return _JUnitParser(dialect).read(data)


class _JUnitParser:
    """Parser of one document."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._depth = 0
        self._case: dict[str, str] | None = None
        self._case_depth = 0
        self._texts: dict[str, str] = {}
        self._open = ""  # collects the text of this element
        self._others: list[str] = []  # keys of the failures and errors after the first
        self._elements = 0
        self._seen = 0  # test cases
        self._cases = Cases()
        self._parser = XmlParser(self._start, self._end, bad_line, self._text)

    def read(self, data: bytes) -> TestRun:
        """Read the whole document."""
        for begin in range(0, len(data), _PIECE):
            self._parser.feed(data[begin : begin + _PIECE], is_last=False)
            self._check_unfinished(data, begin + _PIECE)
        self._parser.feed(b"")
        return self._cases.run()

    def _check_unfinished(self, data: bytes, end: int) -> None:
        """Refuse a huge unfinished tag before expat buffers millions of attributes."""
        begin = self._parser.position
        if begin < end - _LONGEST:
            raise BadResults(f"a tag or comment has more than {_LONGEST} bytes")
        found = _TAG.match(data, begin, end)
        for _ in range(_MOST_ATTRIBUTES):
            if not found:
                return
            found = _ATTRIBUTE.match(data, found.end(), end)
        if found:
            raise BadResults(_TOO_MANY)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise BadResults(f"it has more than {_MOST_ELEMENTS} elements")
        if len(attributes) > _MOST_ATTRIBUTES:
            raise BadResults(_TOO_MANY)
        if self._depth > _DEEPEST:
            raise BadResults(f"it is nested more than {_DEEPEST} elements deep")
        if self._depth == 1 and name not in _ROOTS:
            raise BadResults(f"its root is {brief(name)}, not testsuite or testsuites")
        if name == "testcase" and self._case is None:
            self._seen += 1
            if self._seen > _MOST_SEEN:
                raise BadResults(f"it has more than {_MOST_SEEN} test cases; split it")
            self._case, self._case_depth, self._texts, self._others = attributes, self._depth, {}, []
        elif self._case is not None and name in _TEXTS and self._depth == self._case_depth + 1:
            self._open = self._key_of(name)
            if self._open:
                self._texts[self._open] = ""
                self._texts[f"{self._open} message"] = attributes.get("message", "")[:_KEPT]

    def _key_of(self, name: str) -> str:
        """Choose the key of an element's text; empty if the text is not kept."""
        if name in _FAILURES and not _FAILURES.isdisjoint(self._texts):
            key = name if name not in self._texts else f"{name} {len(self._others) + 1}"
            if len(self._others) == MOST_OTHERS:
                return ""
            self._others.append(key)
            return key
        return "" if name in self._texts else name

    def _text(self, text: str) -> None:
        if self._open:
            self._texts[self._open] = (self._texts[self._open] + text)[-_KEPT:]

    def _end(self, _name: str) -> None:
        if self._depth == self._case_depth + 1:
            self._open = ""
        if self._case is not None and self._depth == self._case_depth:
            self._cases.add(self._read(self._case))
            self._case, self._open = None, ""
        self._depth -= 1

    def _read(self, attributes: dict[str, str]) -> TestCase:
        status = (
            self._ctest_status(attributes) if self._dialect is Dialect.CTEST else self._status(attributes)
        )
        name, group = attributes.get("name", ""), attributes.get("classname", "")
        if self._dialect is Dialect.GENERIC and group not in {"", name}:
            name = f"{group}.{name}"
        first = _placed(self._message(status))
        keys = self._others if status is CaseStatus.FAILED else []
        others = (_placed(_shown(self._texts[f"{key} message"]) or _shown(self._texts[key])) for key in keys)
        return case_of(name, status, _seconds(attributes.get("time", "")), *first, others)

    def _ctest_status(self, attributes: dict[str, str]) -> CaseStatus:
        match attributes.get("status", ""):
            case "run":
                return CaseStatus.FAILED if "failure" in self._texts else CaseStatus.PASSED
            case "fail":
                return CaseStatus.FAILED
            case "disabled":
                return CaseStatus.DISABLED
            case "notrun" if _SKIPPED_BY_ITSELF.match(self._texts.get("skipped message", "")):
                return CaseStatus.SKIPPED
        return CaseStatus.NOT_RUN

    def _status(self, attributes: dict[str, str]) -> CaseStatus:
        if _FAILURES & self._texts.keys():
            return CaseStatus.FAILED
        if "skipped" in self._texts:
            return CaseStatus.SKIPPED
        stated = attributes.get("status", "").lower()
        return CaseStatus.DISABLED if stated in {"notrun", "disabled"} else CaseStatus.PASSED

    def _message(self, status: CaseStatus) -> str:
        """Find the stated reason, or the end of the output of a test that failed without one."""
        if status is CaseStatus.PASSED:
            return ""
        keys: tuple[str, ...] = (
            "failure message",
            "failure",
            "error message",
            "error",
            "skipped message",
            "skipped",
        )
        if status in {CaseStatus.FAILED, CaseStatus.NOT_RUN}:
            keys += ("system-out",)
        return next((text for key in keys if (text := _shown(self._texts.get(key, "")))), "")


def _placed(message: str) -> OtherReason:
    """Split GoogleTest's place from the message."""
    place = _PLACE.match(message)
    return OtherReason(message[place.end() :], place[1]) if place else OtherReason(message)


def _seconds(text: str) -> float:
    try:
        return float(text.replace(",", ""))  # some writers group the thousands
    except ValueError:
        return 0.0


def _shown(text: str) -> str:
    return ESCAPE_SEQUENCE.sub("", _NOT_XML.sub(lambda mark: chr(int(mark[1], 16)), text)).strip()
