"""Refuse words in prose, and first words of docstrings, that are not plain English.

Prose is the comments, strings and test names of Python, the comments of C++, and all text of other files.
``plain_english_exceptions.txt`` lists the files that must contain refused words, under the reasons.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parents[1]
EXCEPTIONS: Final = Path(__file__).with_name("plain_english_exceptions.txt")

_BE: Final = "is|are|was|were|be|been|being"
REFUSED: Final = {
    "shall": "must, never, or the present tense",
    "mend(s|ed|ing)?": "fix",
    "likewise": "also",
    "but for": "except",
    "obey(s|ed|ing)?": "follow, apply or run",
    "whoever": "anybody who, or the actor's name",
    rf"({_BE})( not)? told": "the sentence with its actor: Benchgate reports ..., the caller receives ...",
    rf"({_BE})( not)? said": "the sentence with its actor, or state, report, name",
    "hear(s|d|ing)?": "receive, read or notice",
    "coins?": "random launch order, randomisation test",
    "desks?": "local, or on your own machine",
    "(work)?shops?": "build host",
    "pok(e|es|ed|ing)": "sweep, or re-examine",
    "rul(ed(?! out)|ings?)": "override, overridden",
    "nobody's": "untrusted, or without an owner",
    "(there|here|where)(by|in|of|from)": "a sentence of its own",
    "none if (it|there) is none": "return None for any other text; or None",
}
"""Regular expressions of refused words, each with the words to use instead."""

_FIRST_WORDS: Final = re.compile(
    r"(how|if|knows|says|tells|that|what|whatever|when|where|whether|which|who|whoever|whose|why)\b"
    r"|the (?!beginning|meaning|setting|string)[a-z]+ing of\b",
    re.IGNORECASE,
)
"""Words that no docstring opens with: a clause, or a verb that became a noun ("The shipping of")."""

_WORDS: Final = {
    re.compile(rf"(?<!\w)({pattern})(?!\w)".replace(" ", r"\s+"), re.IGNORECASE): instead
    for pattern, instead in REFUSED.items()
}
# One search for all takes a tenth of the time of one for each, and most files have none of the words.
_ANY: Final = re.compile(rf"\b(?:{'|'.join(REFUSED)})\b".replace(" ", r"\s+"), re.IGNORECASE)
_QUOTES: Final = re.compile(r"[\"']+\s*")
_MARKS: Final = re.compile(r"[_#*/\"-]")
_CPP_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CHECKED: Final = re.compile(
    r"(^|/)\.?[\w-]+$|\.(awk|cmake|cpp|css|h|html|js|md|mjs|py|sh|sql|svg|toml|txt|yaml|yml)$"
)
_NOT_OURS: Final = ("tests/samples/", "LICENSE")
_PRUNE: Final = "python -m tools.plain_english --prune"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A refused word: its place, and the words to use instead."""

    path: str
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        """Format the finding as editors expect it."""
        return f"{self.path}:{self.line}: {self.word} -> {self.instead}"


def findings_in(path: str, text: str) -> list[Finding]:
    """List the findings in a file's text, by line."""
    anywhere = _MARKS.sub(" ", text)
    possible = [pattern for pattern in _WORDS if pattern.search(anywhere)] if _ANY.search(anywhere) else []
    prose = _prose(path, text) if possible else ""
    words = [
        Finding(path, prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), _WORDS[pattern])
        for pattern in possible
        for match in pattern.finditer(prose)
    ]
    return sorted([*words, *(_first_words(path, text) if path.endswith(".py") else ())])


def _prose(path: str, text: str) -> str:
    """Blank out everything in a text that is not prose; lines keep their numbers."""
    if path.endswith(".py"):
        return _python_prose(text)
    if path.endswith((".cpp", ".h")):
        spans = [match.span() for match in _CPP_COMMENT.finditer(text)]
        return re.sub(r"[/*]", " ", _only(text, spans))
    return re.sub(r"^[ \t]*(#|//|--|\*)+", lambda mark: " " * len(mark[0]), text, flags=re.MULTILINE)


def _python_prose(text: str) -> str:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    spans, names = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        span = starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
        if tokenize.tok_name[token.type] in {"COMMENT", "STRING", "FSTRING_MIDDLE"}:
            spans.append(span)
        elif token.type == tokenize.NAME and token.string.startswith("test_"):
            names.append(span)
    prose = re.sub(r'["#]', " ", _only(text, spans))
    for start, end in names:
        prose = prose[:start] + text[start:end].replace("_", " ") + prose[end:]
    return prose


def _only(text: str, spans: list[tuple[int, int]]) -> str:
    kept, after = [], 0
    for start, end in spans:
        kept += [re.sub(r"[^\n]", " ", text[after:start]), text[start:end]]
        after = end
    return "".join((*kept, re.sub(r"[^\n]", " ", text[after:])))


def _first_words(path: str, text: str) -> Iterator[Finding]:
    if not any(_FIRST_WORDS.match(text, mark.end()) for mark in _QUOTES.finditer(text)):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match = _FIRST_WORDS.match(ast.get_docstring(node) or "")
        if match is None:
            continue
        yield Finding(path, node.body[0].lineno, match[0], "a verb or a noun phrase as the first words")


def exceptions_in(text: str) -> dict[str, frozenset[str]]:
    """Parse the list of exceptions: the words that are allowed in a file, by path; none allows all.

    A line is a path, then words. ``#`` begins a comment.
    """
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return {path: frozenset(words) for path, *words in filter(None, lines)}


def check(texts: Mapping[str, str], exceptions: Mapping[str, frozenset[str]]) -> list[str]:
    """List the findings that no exception covers, and the exceptions that no finding needs."""
    reports = []
    for path, text in texts.items():
        found = findings_in(path, text)
        allowed = exceptions.get(path)
        if allowed is None or allowed:
            reports += [str(finding) for finding in found if finding.word.lower() not in (allowed or ())]
        if allowed is not None and not found:
            reports.append(f"{path}: clean -> remove its exception ({_PRUNE})")
    return reports + [
        f"{path}: no such file -> remove its exception ({_PRUNE})" for path in exceptions if path not in texts
    ]


def _texts() -> dict[str, str]:
    listed = subprocess.run(
        ("/usr/bin/env", "git", "ls-files", "--cached", "--others", "--exclude-standard"),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in sorted(set(listed))
        if _CHECKED.search(path) and not path.startswith(_NOT_OURS) and (ROOT / path).is_file()
    }


def prune(listed: str, texts: Mapping[str, str]) -> str:
    """Drop the exceptions of files that are clean or gone, and headings without files."""
    paragraphs = []
    for paragraph in listed.strip("\n").split("\n\n"):
        named = exceptions_in(paragraph)
        needed = {path for path in named if path in texts and findings_in(path, texts[path])}
        if needed or not named:
            lines = paragraph.split("\n")
            paragraphs.append("\n".join(line for line in lines if needed.issuperset(exceptions_in(line))))
    return "\n\n".join(paragraphs) + "\n"


def main(arguments: list[str]) -> int:
    """Print every report; return 1 if there is one. With ``--prune``, shorten the exceptions first."""
    texts, listed = _texts(), EXCEPTIONS.read_text(encoding="utf-8")
    if arguments == ["--prune"]:
        listed = prune(listed, texts)
        EXCEPTIONS.write_text(listed, encoding="utf-8")
    reports = check(texts, exceptions_in(listed))
    print("\n".join(reports), end="\n" if reports else "")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
