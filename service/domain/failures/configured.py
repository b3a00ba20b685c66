"""Find failures in logs by the patterns that an operator configures in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.failure import MOST, Failure, FailureKind, failure_of
from service.domain.failures.output.line_patterns import OPENINGS
from service.domain.failures.output.linear import Pattern, PatternTable
from service.domain.failures.output.log_lines import cleaned, decoded
from service.domain.failures.signature import signature_of
from service.domain.project.yaml_reader import read_yaml
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from service.domain.project.yaml_reader import Places

MOST_PATTERNS: Final = 100  # as many as one person can look after
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_GROUPS: Final = frozenset({"subject", "headline"})
_MOST_READ: Final = 10_000  # different matching lines, before the rest of the log is skipped


class ConfiguredPattern(NamedTuple):
    """A named pattern; its groups ``subject`` and ``headline`` give the texts of the failure."""

    name: str
    pattern: Pattern

    def failure_in(self, text: bytes) -> Failure | None:
        """Return the failure in a line; None if the pattern does not match."""
        if (groups := self.pattern.named_groups(text)) is None:
            return None
        shown = decoded(text).strip()
        headline = groups.get("headline", "").strip() or shown
        return failure_of(
            FailureKind.CONFIGURED,
            groups.get("subject", ""),
            f"{self.name}: {headline}",
            f"{self.name}: {shown}",
        )


class ConfiguredPatterns:
    """All configured patterns, in the order of the file; the first that matches a line counts."""

    __slots__ = ("_patterns", "_table")

    def __init__(self, patterns: Iterable[ConfiguredPattern] = ()) -> None:
        self._patterns: Final = tuple(patterns)
        self._table: Final = PatternTable(each.pattern for each in self._patterns)

    def __len__(self) -> int:
        return len(self._patterns)

    def failures_in(
        self, log: Iterable[bytes], found: Sequence[Failure] = ()
    ) -> tuple[tuple[Failure, ...], bool]:
        """Find failures in the lines of a log, except those already found; each signature counts once.

        The time is linear in the length of the log.

        Args:
            log: the lines; only the first 4,096 bytes of each are searched.
            found: failures already found in this log.

        Returns:
            The failures, at most :data:`MOST` together with those found, and whether there may be more.
        """
        if not self._patterns:
            return (), False
        known = {each.line for each in found}
        known |= {each.headline for each in found}
        failures: dict[bytes, Failure] = {}
        for read, failure in enumerate(self._matches(log)):
            text = failure.line.partition(": ")[2]
            if text in known or any(f"{opening}{text}" in known for opening in OPENINGS.values()):
                continue
            digest = signature_of(failure).digest
            if read >= _MOST_READ or (digest not in failures and len(failures) + len(found) >= MOST):
                return tuple(failures.values()), True
            failures.setdefault(digest, failure)
        return tuple(failures.values()), False

    def _matches(self, log: Iterable[bytes]) -> Iterator[Failure]:
        """Yield the failure of each different matching line."""
        seen: set[bytes] = set()
        for line in log:
            text = cleaned(line).text
            places = self._table.matching(text)
            if not places or text in seen:
                continue
            seen.add(text)
            for place in places:
                if failure := self._patterns[place].failure_in(text):
                    yield failure
                    break


NO_PATTERNS: Final = ConfiguredPatterns()


def read_patterns(text: str, file: str) -> ConfiguredPatterns:
    """Parse a file of patterns: a YAML mapping by name.

    Raises:
        BadInput: the message names the file, the line, the pattern and what is allowed.
    """
    written, places = read_yaml(text, file)
    if not isinstance(written, dict):
        raise places.error((), "a mapping of names to patterns is needed")
    if len(written) > MOST_PATTERNS:
        raise places.error((), f"it has {len(written)} patterns; at most {MOST_PATTERNS} are allowed")
    patterns = [_pattern(name, value, places) for name, value in written.items()]
    try:
        return ConfiguredPatterns(patterns)
    except BadInput as error:
        raise places.error((), str(error)) from None


def _pattern(name: str, value: object, places: Places) -> ConfiguredPattern:
    if not _NAME.fullmatch(name):
        raise places.error(
            (name,), "not a name; allowed are letters, digits and . _ + - after a letter or digit"
        )
    if not isinstance(value, str):
        raise places.error((name,), "a text is needed: the pattern, best in single quotes")
    try:
        pattern = Pattern(value)
    except BadInput as error:
        raise places.error((name,), str(error)) from None
    if unknown := sorted(pattern.group_names - _GROUPS):
        raise places.error((name,), f"unknown group {unknown[0]}; allowed are subject and headline")
    return ConfiguredPattern(name, pattern)
