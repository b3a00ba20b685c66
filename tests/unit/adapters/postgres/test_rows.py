"""Convert rows to values, for all types built from rows or stored as rows."""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields
from enum import StrEnum
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from service.adapters.postgres import schema
from service.adapters.postgres.rows import from_row, plan_of
from service.ports.runs.decisions import NewDecision, NewOverride
from service.ports.runs.runs import NewRun

if TYPE_CHECKING:
    from sqlalchemy import RowMapping, Table

ROOT = Path(__file__).parents[4]
OF_COLUMNS_OF_ANOTHER_NAME = {"comment_id", "signed_in_as"}  # the second is in the row of the first


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Painted:
    colour: Colour
    shade: Colour | None
    layers: tuple[Colour, ...]
    names: tuple[str, ...]
    coats: int | None


@dataclass(frozen=True)
class Loose:
    name: str
    layers: list[Colour]


@dataclass(frozen=True)
class Ambiguous:
    name: str
    colour: Colour | int | None


def row(**columns: object) -> RowMapping:
    return cast("RowMapping", columns)


PAINTED = row(colour="red", shade=None, layers=["blue", "red"], names=["a"], coats=None, other=1)


def test_enums_are_converted_alone_beside_none_and_in_tuples() -> None:
    painted = Painted(Colour.RED, None, (Colour.BLUE, Colour.RED), ("a",), None)
    assert from_row(Painted, PAINTED) == painted
    assert type(from_row(Painted, PAINTED).layers[0]) is Colour
    assert from_row(Painted, PAINTED, shade=Colour.BLUE).shade is Colour.BLUE


@pytest.mark.parametrize("wrong", [{"colour": "green"}, {"colour": None}, {"layers": ["green"]}])
def test_a_text_outside_the_enum_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not a valid Colour"):
        from_row(Painted, row(**{**PAINTED, **wrong}))


@pytest.mark.parametrize("kind", [Loose, Ambiguous])
def test_a_type_without_a_rule_is_an_error_and_not_a_guess(kind: type[Any]) -> None:
    with pytest.raises(TypeError, match="no column holds a"):
        from_row(kind, row(name="", layers=["red"], colour="red"))


def test_every_type_built_from_rows_has_a_rule_for_each_field() -> None:
    planned = 0
    for path in (ROOT / "service/adapters/postgres").rglob("*.py"):
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "from_row":
                kind = attrgetter(ast.unparse(call.args[0]))(module)
                plan_of(kind, *(str(given.arg) for given in call.keywords))  # raises TypeError
                planned += 1
    assert planned > 20


@pytest.mark.parametrize(
    ("kind", "table"), [(NewRun, schema.run), (NewDecision, schema.decision), (NewOverride, schema.ruling)]
)
def test_the_fields_of_a_wholly_stored_value_are_columns(kind: type[Any], table: Table) -> None:
    assert {field.name for field in fields(kind)} - OF_COLUMNS_OF_ANOTHER_NAME <= set(table.c.keys())
