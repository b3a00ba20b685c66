"""Compare what the same tests found in several places."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from tests.escape.attempt import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PASSED, FAILED, SKIPPED, MISSING = "passed", "FAILED", "skipped", "MISSING"
BAD: Final = frozenset({FAILED, MISSING})


def found_in(report: str) -> dict[str, str]:
    """Read a JUnit report of pytest: what answered each attempt to escape, and how other tests ended."""
    found = {}
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        kinds = {each.tag for each in case}
        end = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        name = f"{case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
        for each in case.iter("property"):
            if each.get("name") == PROPERTY:
                family, attempted, _, answer = ast.literal_eval(each.get("value", ""))
                name, end = f"{family}: {attempted}", answer if end == PASSED else f"{FAILED}: {answer}"
        found[name] = end
    return found


def table(places: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of a table: a test, what each place found, and whether they found the same."""
    names = list(dict.fromkeys(name for found in places.values() for name in found))
    rows: list[Sequence[str]] = [("attempt or test", *places, "same?")]
    for name in names:
        answers = [found.get(name, MISSING) for found in places.values()]
        rows.append((name, *answers, "same" if len(set(answers)) == 1 else "DIFFERS"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def failures(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """List what failed in a place, and what it lacks of the expected."""
    return [name for name in {**expected, **found} if found.get(name, MISSING).partition(":")[0] in BAD]
