"""Recognise a package that a configure run needs and does not find."""

from __future__ import annotations

import re
from typing import Final

from service.domain.building.log_places import lines_with
from service.domain.values.text import plain

_NAME: Final = r"[\"']?([A-Za-z0-9_][\w.+-]{0,99})[\"']?"
_NEXT: Final = re.compile(r"\n(?=\S)")  # it indents them
_MARK: Final = re.compile(rb"^CMake Error|ERROR: Dependency ", re.MULTILINE)
_NOT_FOUND: Final = re.compile(
    rf"Could NOT find {_NAME} \("
    rf"|Could not find a (?:package )?configuration file (?:provided by|for package) {_NAME}"
    rf"|ERROR: Dependency (?:lookup for )?{_NAME} (?:not found|with method)"
)
_OF_PKG_CONFIG: Final = re.compile(
    r"A required package was not found|The following required packages were not found"
)
_PACKAGE: Final = re.compile(rf"[Pp]ackage {_NAME}")
_BEFORE, _AFTER = 2000, 2000  # bytes around the message


def missing_package(log: bytes) -> str:
    """Name the missing package that ended the configuration; empty if another error did."""
    begin, _ = next(lines_with(_MARK, log), (len(log), ""))
    after = log[begin : begin + _AFTER].decode(errors="replace")
    # CMake breaks the lines of its messages at spaces.
    message = " ".join(_NEXT.split(after, 1)[0].split())
    if found := _NOT_FOUND.search(message):
        return plain(found[found.lastindex or 0])
    if _OF_PKG_CONFIG.search(message):
        before = log[max(0, begin - _BEFORE) : begin].decode(errors="replace")
        return plain(next(iter(_PACKAGE.findall(before)[-1:]), ""))
    return ""
