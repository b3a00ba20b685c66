"""Report refused words and openings in prose."""

from __future__ import annotations

import pytest

from tools.plain_english import EXCEPTIONS, check, exceptions_in, findings_in, prune


def _words(path: str, text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.word) for finding in findings_in(path, text)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "# It shall end.\n"),
        ("a.py", "reason = 'It shall end.'\n"),
        ("a.py", "def test_it_shall_end(): ...\n"),
        ("a.md", "It shall end.\n"),
        ("a.html", "<p>It shall end.</p>\n"),
        ("a.cpp", "// It shall end.\n"),
        ("a.h", "/* It shall end. */\n"),
        ("a.sql", "-- It shall end.\n"),
    ],
)
def test_a_refused_word_is_reported_with_its_line(path: str, text: str) -> None:
    assert _words(path, text) == [(1, "shall")]


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.py", "shall = heard\n"), ("a.cpp", "obey(shall);\n"), ("a.md", "Marshall. `was_told`\n")],
)
def test_names_in_code_and_parts_of_words_are_allowed(path: str, text: str) -> None:
    assert _words(path, text) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = 1\n# The owner was\n# told.\n"),
        ("a.py", 'x = 1\ny = ("The owner was "\n     "told.")\n'),
        ("a.cpp", "int x;\n/// The owner was\n/// told.\n"),
        ("a.sql", "SELECT 1;\n-- The owner was\n-- told.\n"),
    ],
)
def test_a_phrase_may_run_over_two_lines(path: str, text: str) -> None:
    assert _words(path, text) == [(2, "was told")]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('"""What a run needs."""\n', "What"),
        ('class Run:\n    """How a run ends."""\n', "How"),
        ('def end() -> None:\n    """Tells the owner."""\n', "Tells"),
        ('def ended() -> bool:\n    """Whether a run has ended."""\n', "Whether"),
        ('"""The shipping of a log."""\n', "The shipping of"),
    ],
)
def test_a_docstring_that_opens_with_a_clause_or_a_nominalised_verb_is_reported(text: str, word: str) -> None:
    assert [found for _, found in _words("a.py", text)] == [word]


@pytest.mark.parametrize(
    "text",
    [
        '"""Comment commands: grammar and permissions."""\n',
        '"""The beginning of a log."""\n',
        'def end() -> None:\n    """End the run."""\n',
        'def ended() -> bool:\n    """Return whether a run has ended."""\n',
    ],
)
def test_a_docstring_that_opens_with_a_noun_or_a_verb_is_allowed(text: str) -> None:
    assert _words("a.py", text) == []


def test_an_exception_covers_the_words_that_it_names() -> None:
    exceptions = exceptions_in("# why\na.md shall  # a word\nb.md\n")
    texts = {"a.md": "It shall mend.", "b.md": "It shall mend."}
    assert check(texts, exceptions) == ["a.md:1: mend -> fix"]


def test_an_exception_without_need_is_reported() -> None:
    first, second = check({"a.md": "It ends."}, exceptions_in("a.md\nb.md\n"))
    assert first.startswith("a.md: clean -> remove its exception")
    assert second.startswith("b.md: no such file -> remove its exception")


def test_pruning_drops_the_lines_that_nothing_needs() -> None:
    listed = "# why\na.md\nb.md\ngone.md\n"
    assert prune(listed, {"a.md": "It ends.", "b.md": "It shall end."}) == "# why\nb.md\n"


def test_pruning_drops_a_heading_without_files_but_not_the_first_comment() -> None:
    listed = "# The format.\n\n# First.\na.md\n\n# Second.\nb.md shall\n"
    texts = {"a.md": "It ends.", "b.md": "It shall end."}
    assert prune(listed, texts) == "# The format.\n\n# Second.\nb.md shall\n"


def test_every_heading_of_the_exceptions_has_files() -> None:
    _, *paragraphs = EXCEPTIONS.read_text(encoding="utf-8").split("\n\n")
    assert [paragraph for paragraph in paragraphs if not exceptions_in(paragraph)] == []
