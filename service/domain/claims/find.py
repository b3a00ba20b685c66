"""Find what a commit message claims of benchmarks. A misread claim is worse than none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from service.domain.claims.forms import CONSOLE, FORMS, GRID, TESTS, Block
from service.domain.claims.prose import claims_in
from service.domain.claims.sides import pair, with_roles
from service.domain.claims.values import Claim, Fault, Found, Refusal, Table
from service.domain.claims.variants import mark_variants
from service.domain.claims.words import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.claims.forms import Form
    from service.domain.claims.words import Line

# Of a message. Of 350 public ones with a table, one has more: it repeats the history of a branch.
MAX_CHARACTERS: Final = 64_000
MAX_LINES: Final = 3_000
_MOST_KEPT: Final = 200  # claims
_LONGEST_NAME: Final = 300
_MOST_ROWS: Final = 1_000  # a person reads fewer
_MOST_TABLES: Final = 50
# What Google Benchmark, GoogleTest, a shell and compare.py print around their tables; dashes, the fence of a
# code block, and the title of the counters, which a wrapped header glues to the dashes.
_CONTEXT: Final = re.compile(
    r"\s*(?:Run on \((?P<cpus>[0-9]{1,5}) X |Running \S*/|CPU Caches:|L\d (?:Data|Instruction|Unified) "
    r"|Load Average: |\*\*\*WARNING\*\*\*|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d |\$ ?\S|(?:# ?)?\.{0,2}/\S"
    r"|(?:real|user|sys)\s+\d|Comparing \S+ to |RUNNING: |Note: Google Test filter"
    r"|\[ RUN  |\[ *-{10}\]|\[ *={10}\]|\[ *PASSED *\] \d)"
    r"|(?:\s*UserCounters)?[-=_+|:.\s\u2013-\u2015\u2026\u2500-\u2503\u2550]*$|\s*(?:```|~~~)[\w+-]*$"
)


# A subject about benchmarks, or benchstat's table of several programs: old and new may be two of them.
_DOUBTFUL: Final = re.compile(r"(?im)\A(?!.*(?:  |\|)).*\b(?:micro-?)?bench(?:es|mark\w*)?\b|^[ \t]*name \\ ")
# A later one of several squashed commits may change what an earlier one measured.
_FASTER: Final = re.compile(r"\b(?:speed|fast|optimi[sz]|perf|allocat)", re.IGNORECASE)
# In the subject, or as git writes it in the body.
_REVERT: Final = re.compile(r"(?im)\A[^\n]*\b(?:revert|back(?:s|ed)? ?out\b)|^This reverts commit ")


def find_claims(message: str) -> Found:
    """Find the tables and claims of a commit message, in linear time.

    A table that cannot be read safely is refused as a whole.
    """
    if len(message) > MAX_CHARACTERS or message.count("\n") > MAX_LINES:
        return Found(refused=(Refusal(1, Fault.TOO_LONG),))
    lines = lines_of(message)
    blocks = _without_single_logs(_Finder(lines).blocks)
    if len(blocks) > _MOST_TABLES or sum(len(block.rows) for block in blocks) > _MOST_ROWS:
        return Found(refused=(Refusal(blocks[0].rows[0].number, Fault.TOO_LONG),))
    if blocks and _REVERT.search(message):
        return Found(refused=(Refusal(blocks[0].rows[0].number, Fault.REVERTED),))
    if blocks and _shows_step(blocks, lines):
        return Found(refused=(Refusal(blocks[0].rows[0].number, Fault.STEP),))
    grid = next((block for block in blocks if block.form is GRID), None)
    if grid and _DOUBTFUL.search(message):
        return Found(refused=(Refusal(grid.rows[0].number, Fault.OTHER_BASE),))
    read = [each for block in blocks for each in block.read()]
    printed = [each for each in read if isinstance(each, Claim)]
    if _are_rivals(printed):
        read = [each for each in read if not isinstance(each, Claim)]
        read.append(Refusal(printed[0].line, Fault.TWO_BASES))
    tables = [each for each in read if isinstance(each, Table)]
    if not any(isinstance(each, Refusal) for each in read):  # a refused table may be the other side
        tables = with_roles(tables)
    found = [*read, *pair(tables)]
    refused = sorted((each for each in found if isinstance(each, Refusal)), key=lambda refusal: refusal.line)
    claims = [each for each in found if isinstance(each, Claim)]
    if not (refused or _DOUBTFUL.search(message) or _REVERT.search(message) or _commits(lines)):
        claims, refused = _with_prose(claims, claims_in(lines))
    return Found(tuple(tables), mark_variants(lines[0].text, claims), tuple(refused))


def claims_to_keep(message: str) -> tuple[Claim, ...]:
    """Find the claims of a commit message that are worth storing, without what tells tables apart.

    They are those of the first benchmarks, and all of each: one whose variants are missing would have an
    answer.
    """
    found = [
        replace(each, before_label="", after_label="", table=None)
        for each in find_claims(message).claims
        if max(len(each.benchmark), len(each.metric)) <= _LONGEST_NAME
    ]
    room, names = _MOST_KEPT, set[str]()
    for name, count in Counter(each.benchmark for each in found).items():
        room -= count
        if room < 0:
            break
        names.add(name)
    return tuple(each for each in found if each.benchmark in names)


def _with_prose(claims: Sequence[Claim], prose: Iterable[Claim]) -> tuple[list[Claim], list[Refusal]]:
    """Add the claims of sentences that no table has; of those that contradict each other, refuse all."""
    told: dict[tuple[str, str], list[Claim]] = {}
    for each in claims:
        told.setdefault((each.benchmark, each.metric), []).append(each)
    kept, wrong = [*claims], dict[tuple[str, str], Claim]()
    for each in prose:
        key = each.benchmark, each.metric
        if others := told.get(key):
            if any(map(each.contradicts, others)):
                wrong[key] = each
        else:
            told[key] = [each]
            kept.append(each)
    kept = sorted(
        (each for each in kept if (each.benchmark, each.metric) not in wrong), key=lambda claim: claim.line
    )
    return kept, [Refusal(each.line, Fault.CONTRADICTION, each.benchmark) for each in wrong.values()]


def _commits(lines: Sequence[Line]) -> list[Line]:
    """Return the titles of squashed commits, if the body lists them as GitHub does."""
    texts = ["", *(line.text for line in lines), ""]
    alone = [line for k, line in enumerate(lines) if not texts[k] + texts[k + 2]]
    commits = [line for line in alone if line.text.startswith("* ")]
    return commits if commits[1:] and not any(texts[2 : commits[0].number]) else []


def _shows_step(blocks: Sequence[Block], lines: Sequence[Line]) -> bool:
    """Return whether a table shows one of several squashed commits, not the whole change."""
    commits = _commits(lines)
    last = max((each.number for each in commits if _FASTER.search(each.text)), default=0)
    for number in [block.rows[0].number for block in blocks]:
        above = max((each.number for each in commits if each.number < number), default=0)
        if above and (number < last or lines[above - 1].text.strip("* .") not in lines[0].text):
            return True
    return False


def _are_rivals(claims: Sequence[Claim]) -> bool:
    """Return whether most repeated claims are of variants or steps, or have two bases.

    They agree on one side only, or the new value of one is the old value of the next.
    """
    values: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for each in claims:
        values.setdefault((each.benchmark, each.metric), []).append((each.before, each.after))
    repeated = [list(dict.fromkeys(pairs)) for pairs in values.values() if len(pairs) > 1]
    torn = sum(min(len(dict(each)), len({new for _, new in each})) < len(each) for each in repeated)
    chained = sum(any(left[1] == right[0] for left, right in pairwise(each)) for each in repeated)
    return 2 * max(torn, chained) > len(repeated)


def _without_single_logs(blocks: Sequence[Block]) -> list[Block]:
    """Leave out logs of tests that no other log can be compared with: they show that the tests pass."""
    logs = Counter(name for block in blocks if block.form is TESTS for name in _tests_of(block))
    return [each for each in blocks if each.form is not TESTS or any(logs[k] > 1 for k in _tests_of(each))]


def _tests_of(block: Block) -> set[str]:
    """Return the tests that passed; GoogleTest names the others again at its end."""
    return {line.words[3] for line in block.rows if line.words[1] == "OK"}


class _Finder:
    """Goes through the lines of a message once; ``blocks`` has the result."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.blocks: list[Block] = []
        self._open: Block | None = None
        self._header: Line | None = None  # of the last table whose rows may go on without one
        self._paragraph: list[Line] = []
        self._intro: tuple[Line, ...] = ()
        self._is_after_blank = True
        self._cpus: int | None = None
        for line in lines:
            self._look_at(line)
        self._close()

    def _look_at(self, line: Line) -> None:
        if not line.text:
            self._is_after_blank = True
            # Bars tell rows from text, also after a blank line.
            header = self._open.header if self._open and self._open.rows else None
            if self._open and self._open.form.needs_header and header and "|" not in header.text:
                self._close()
        elif form := next((form for form in FORMS if form.is_header(line)), None):
            self._close()
            self._open = Block(form, line)
            self._header = None if form.needs_header else line
        elif form := self._form_of(line):
            self._add(form, line)
        elif context := _CONTEXT.match(line.text):
            self._cpus = int(context["cpus"]) if context["cpus"] else self._cpus
        elif line.number > 1:  # the subject introduces nothing
            self._read_text(line)

    def _form_of(self, line: Line) -> Form | None:
        """Return the form that accepts a line as a row; the open block's form is asked first."""
        if self._open and self._open.form.is_row(line, self._open.header):
            return self._open.form
        return next((form for form in FORMS if not form.needs_header and form.is_row(line, None)), None)

    def _add(self, form: Form, row: Line) -> None:
        if self._open is None or self._open.form is not form:
            self._close()
            self._open = Block(form, self._header if form is CONSOLE else None)
        if not self._open.rows:
            self._open.paragraph, self._open.cpus = tuple(self._paragraph), self._cpus
            self._intro = self._open.intro = self._open.paragraph or self._intro
            self._paragraph = []
        self._open.rows.append(row)

    def _read_text(self, line: Line) -> None:
        if self._open and (self._open.rows or self._open.form.needs_header):
            self._close()
        if self._is_after_blank:
            self._paragraph = []
        self._paragraph.append(line)
        self._is_after_blank = False

    def _close(self) -> None:
        if self._open and self._open.rows:
            self.blocks.append(self._open)
        self._open = None
