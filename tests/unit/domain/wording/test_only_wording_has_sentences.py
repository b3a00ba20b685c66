"""Check that only one room of the domain writes texts for changes, and no step does."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS: Final = Path(__file__).parents[4] / "service" / "steps"
# `listen` writes notes for operators, `enrolment`, `gate` and `try_build` print for the person who called
# them, and `summarise_run` writes the first sentence of a page.
OTHERS: Final = {"listen", "enrolment", "gate", "try_build", "summarise_run"}
CONTROL: Final = [
    path
    for room in ("failures", "machines", "review", "runs")
    for path in sorted((STEPS / room).glob("*.py"))
    if path.stem not in OTHERS
]
_THREE_WORDS: Final = re.compile(r"\b[a-z]+(?: [a-z]+){2}\b")


def _sentences(source: str) -> Iterator[str]:
    """Yield the texts of three words in a row that are neither docstrings nor texts of errors."""
    tree = ast.parse(source)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Expr)]
    others = {
        id(part)
        for node in statements
        if isinstance(node, ast.Raise) or isinstance(node.value, ast.Constant)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in others:
            yield from _THREE_WORDS.findall(node.value)


@pytest.mark.parametrize("path", CONTROL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_step_of_the_control_plane_writes_no_sentence(path: Path) -> None:
    assert list(_sentences(path.read_text(encoding="utf-8"))) == []


def test_the_steps_of_each_room_are_looked_at() -> None:
    assert {path.parent.name for path in CONTROL} == {"failures", "machines", "review", "runs"}


def test_a_sentence_would_be_found() -> None:
    source = '"""The doc of it."""\nNOTE = f"{1}: the run ended"\nraise ValueError("it is an error")\n'
    assert list(_sentences(source)) == ["the run ended"]
