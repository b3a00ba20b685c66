"""Read sentences of one benchmark and one change, as "BM_Parse/64 goes from 3.1 us to 2.4 us"."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from service.domain.claims.grid import Column, cell_of, check_change, claim_of
from service.domain.claims.sides import AGAINST, CONDITIONS
from service.domain.claims.values import SCATTERS, Claim, Unreadable
from service.domain.measuring.metric import RATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.claims.words import Line

_LONGEST: Final = 400  # characters of a sentence
_MOST: Final = 200  # sentences with a change that are looked at
_MOST_SENTENCES: Final = 1_000
_UNREAD: Final = "\ufffc"  # stands for a line that is no prose
_ROW: Final = re.compile(r"[|\ufffc]| {4}|[^\s.:] {2,}\S")
_NUMBERED: Final = re.compile(r"^( *)[0-9]{1,2}[.)] ")
_TRAILER: Final = re.compile(r"[A-Z][a-z]+(?:-[A-Za-z]+)+: ")
_END: Final = re.compile(r"\n\n+|(?<=:)\n|\n(?= *[-*+\u2022] )|(?<=[.!?;])(?<!\bvs\.)\s+|\Z")
# Without BM_, a name has arguments, or a fixture of benchmarks; "issue/12" and "src/12" have neither.
_NAME: Final = re.compile(
    r"(?<![^\s(`'\"])[`'\"]?(?P<name>[Bb][Mm]_\w+(?:<[\w:,]+>)?(?:/[\w:-]*\w)*|\w+Bench(?:mark)?/\w+"
    r"|(?!(?:Issue|Bug|Fix|Change|Pull|PR)/)(?=[A-Z]\w*[a-z]|\w+_)\w++(?:<[\w:,]+>)?(?:/[\w:-]*\w)*"
    r"/(?:[0-9]+|[a-z_]+:[0-9]+|(?:real|process|manual)_time))[`'\"]?(?![^\s),;:.]|[.:]\S)"
)
_UNIT: Final = r"[A-Za-z\u00b5\u03bc]\w*(?:\s?(?:items|ops))?(?:/s(?:ec)?)?\b"
_VALUE: Final = rf"(?<![\w.,])[0-9][0-9.,]*\s{{0,9}}{_UNIT}"
_CHANGE: Final = re.compile(
    rf"(?P<old>{_VALUE})\s{{0,9}}(?:\bto\b|-+>|=+>|\u2192)\s{{0,9}}(?P<new>{_VALUE})"
    r"|(?<![-+\u2013.\w])(?P<percent>[0-9]{1,2}(?:\.[0-9]{1,3})?)\s?%(?!\s+of\b)"
)
_SHARE: Final = re.compile(r"(?<![\w.])[-+]?[0-9]+(?:\.[0-9]+)?\s?(?:%|x\b)")
_LESS: Final = (
    "down less reduce reduces reduced reduction decrease decreases decreased drop drops dropped falls fell"
)
_MORE: Final = "up more increase increases increased grows grew rises rose higher"
_FASTER: Final = "faster improve improves improved improvement speedup speeds"
# All that a sentence or heading may say, except a cause before a comma: so it tells of nothing else.
_PLAIN: Final = frozenset(
    f"{_LESS} {_MORE} {_FASTER} a an and are as benchmark benchmarks by change commit cost cpu from get gets"
    " go goes has have in is it its iteration mean measured median new now of patch per real results run runs"
    " runtime take takes that the this throughput time wall went with".split()
)
# Without one of these, two values may be a range.
_MOVES: Final = frozenset(f"{_LESS} {_MORE} {_FASTER} get gets go goes went".split())
_OTHERS: Final = r"\b(?:commit|change|patch|parent|upstream|unrelated|mistake|mitigation)s?\b"
_CAUSE: Final = re.compile(
    r"\W*(?:(?:by|because|thanks to|with this (?:change|patch|commit|fix))\b"
    rf"(?:(?!bench|{_OTHERS})[^0-9\"])*)?",
    re.IGNORECASE,
)
# A sentence with such a word, or beside one that has it, may not be about what this change does.
_DOUBT: Final = re.compile(
    rf"{AGAINST.pattern}|[~\u2248?\u201c\u201d]|(?<![-=])[<>\u2264\u2265]|n't\b|\b(?:if|when\w*|while|unless"
    r"|until|under|using|not|never|no|none|only|should|would|could|may|might|can|will|expect\w*|estimat\w*"
    r"|up to|next|follow\w*|series|future|about|around|roughly|approx\w*|nearly|almost|between"
    r"|at (?:least|most)|but|however|al?though|except|subtract\w*|slow(?:ed|er)|since|ago|last|recent\w*"
    r"|earlier|caus\w*|introduc\w*|(?<!this )(?<!the )fix|fix(?:ed|es|ing)|restor\w*|recover\w*|revert\w*"
    r"|undo|undone|reject\w*|discard\w*|branch|landed|sa(?:id|ys)|wrote|report\w*|accord\w*|instead|another"
    r"|previous\w*|goal|prototype|prepar\w*|alternative\w*|needs?|half|parts?|aim\w*|hop[ei]\w*|target\w*"
    r"|with(?:out)?(?! (?:this|the|my) (?:patch|change|commit|fix)\b)"
    r"|[io]n (?:my|our|(?:an? |the )?(?:(?-i:[A-Z])\w*|\w{0,20}[0-9]\w*)))(?!\w)",
    re.IGNORECASE,
)
# Anywhere in a message, these tell that its figures may be of another machine, build or change.
_ELSEWHERE: Final = re.compile(
    rf"\A(?:merge|roll|bump)\b|{CONDITIONS.pattern}|\b(?:skylake|haswell|ryzen|epyc|xeon|pixel|apple|upstream"
    r"|parent|stack|tr(?:y|ied)|regress\w*|slow\W?down|fewer|shorten\w*)\b",
    re.IGNORECASE,
)


def claims_in(lines: Sequence[Line]) -> Iterator[Claim]:
    """Yield improvements that sentences below the subject claim, unless they may tell of something else."""
    text, is_code = "", False
    for line in lines[1:]:
        is_code ^= line.text.count("```") % 2 == 1
        is_prose = not (is_code or line.quotes or line.is_hiding or _ROW.search(line.text))
        text += "\n" + (
            "" if _TRAILER.match(line.text) else _NUMBERED.sub(r"\1- ", line.text) if is_prose else _UNREAD
        )
    cuts = [0, *(match.end() for match in _END.finditer(text))]
    if len(cuts) > _MOST_SENTENCES or not _CHANGE.search(text):
        return
    if _ELSEWHERE.search(_NAME.sub("", lines[0].text + text)):
        return

    @cache
    def is_doubtful(k: int) -> bool:
        near = text[cuts[k] : cuts[k + 1]]
        return len(near) > 5 * _LONGEST or _DOUBT.search(_NAME.sub("", near)) is not None

    left = _MOST
    head = 0  # the sentence that introduces this one, and perhaps others
    for k, (start, end) in enumerate(pairwise(cuts)):
        sentence = text[start:end]
        changes = [*_CHANGE.finditer(sentence[:_LONGEST])]
        head, left = (head, left - 1) if changes else (k, left)
        if left < 0:
            return
        changes = [each for each in changes if each["old"]] or changes
        names = [*_NAME.finditer(sentence)] if len(changes) == 1 and end - start <= _LONGEST else []
        near = {max(k - 1, 0), k, min(k + 1, len(cuts) - 2), max(head - 1, 0), head}
        if len(names) == 1 and _UNREAD not in sentence and not any(map(is_doubtful, near)):
            intro = text[cuts[head] : cuts[head + 1]].rstrip()
            is_short = len(intro) <= _LONGEST
            if intro.endswith((".", ";", "!")) or (is_short and _words(intro) <= _PLAIN):
                at = 1 + text.count("\n", 0, start + changes[0].start(changes[0].lastgroup or 0))
                with suppress(Unreadable):
                    yield from _read(sentence, names[0], changes[0], at)


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", _SHARE.sub("", text).lower())}


def _read(sentence: str, named: re.Match[str], change: re.Match[str], line: int) -> Iterator[Claim]:
    (start, one), (two, end) = sorted((named.span(), change.span()))
    cause, _, clause = sentence[:start].rpartition(",")
    said = " ".join((clause, sentence[one:two], sentence[end:]))
    words, name = _words(said), named["name"]
    is_less, is_more, is_faster = (not words.isdisjoint(each.split()) for each in (_LESS, _MORE, _FASTER))
    clocks = words & {"cpu", "real", "wall"}
    if not words <= _PLAIN or len(clocks) > 1 or not _CAUSE.fullmatch(cause) or '"' in said:
        return
    if name.rpartition("_")[2] in {*SCATTERS, "BigO", "RMS"}:
        return
    metric = "cpu_time" if "cpu" in words else "real_time"
    if percent := change["percent"]:
        after = 100 - float(percent)
        rounding = -math.log1p(-0.5 / 10 ** len(percent.partition(".")[2]) / after)
        if is_less and not (is_more or is_faster) and words & {"time", "runtime"}:
            yield Claim(line, name, metric, 100.0, after, after / 100, "%", rounding=rounding)
        return
    (kind, old), (of_new, new) = (cell_of(Column(""), " ".join(change[k].split())) for k in ("old", "new"))
    claim = claim_of(line, name, metric if old.unit else kind, old, new)
    ratio = claim.ratio or 0
    for share in _SHARE.findall(said):
        check_change("", share, ratio, claim.rounding)
    is_range = " to " in " ".join(change[0].split()) and not ("from" in words and words & _MOVES)
    is_other = is_range or kind != of_new or (clocks if kind in RATES else "throughput" in words)
    is_better = ratio < 1 if old.unit else ratio > 1
    is_said = is_faster or not (is_more if ratio < 1 else is_less)
    if (
        ratio and is_better and is_said and not is_other
    ):  # a change for the worse may be what this one repairs
        yield claim
