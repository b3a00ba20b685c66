"""Validate the project file against the annotations of its keys, and describe every problem."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from enum import EnumType
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from service.domain.project.forms import NotAllowed, Record, TooShort

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.project.forms import Form
    from service.domain.project.yaml_reader import Path, Places
    from service.domain.values.errors import BadProjectFile

MOST: Final = 100  # problems of one mapping
_SHOWN: Final[dict[type, str]] = {dict: "a mapping", list: "a list", type(None): "nothing"}
_NEEDED: Final[dict[type, str]] = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
}


class Key(NamedTuple):
    """A key of a mapping: the annotation of its values, and its default."""

    hint: Any
    field: Field[Any]

    @property
    def is_needed(self) -> bool:
        """Return whether the mapping must have the key."""
        return self.field.default is MISSING and self.field.default_factory is MISSING


class _Problem(NamedTuple):
    path: Path
    text: str
    # An unknown key comes first: it is often the misspelt form of a missing one.
    urgency: int = 1


def keys_of(record: type) -> Mapping[str, Key]:
    """Return the keys of a record by name."""
    return _keys_of(record)  # mypy takes a class for unhashable


@cache
def _keys_of(record: type) -> Mapping[str, Key]:
    hints = get_type_hints(record, include_extras=True)
    return MappingProxyType({each.name: Key(hints[each.name], each) for each in fields(record)})


def read(keys: Mapping[str, Key], value: object, at: Path, places: Places) -> dict[str, Any]:
    """Validate the mapping at a path of the file, and return the values of the keys that it has.

    Raises:
        BadProjectFile: the first problem, with line, key and the allowed values.
    """
    problems: list[_Problem] = []
    found = _mapping(keys, value, at, problems)
    if problems:
        raise _errors(problems, places)[0]
    return found


def problems_in(keys: Mapping[str, Key], value: object, at: Path, places: Places) -> list[BadProjectFile]:
    """List the problems of the mapping at a path of the file, at most :data:`MOST`."""
    problems: list[_Problem] = []
    _mapping(keys, value, at, problems)
    return _errors(problems, places)


def _errors(problems: list[_Problem], places: Places) -> list[BadProjectFile]:
    urgent = sorted(problems, key=lambda each: each.urgency)
    return [places.error(each.path, each.text) for each in urgent[:MOST]]


def forms_of(hint: Any) -> tuple[Any, tuple[Form, ...]]:  # noqa: ANN401 - any annotation
    """Return the type of a key's values and its forms; ``X | None`` is X: a null counts as missing."""
    base, *forms = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if type(None) in get_args(base):
        inner, own = forms_of(get_args(base)[0])
        return inner, (*own, *forms)
    return base, tuple(forms)


def _value(hint: Any, value: Any, path: Path, problems: list[_Problem]) -> Any:  # noqa: ANN401 - any YAML
    """Validate a value and return it in the type of its annotation, or add what is wrong to the problems."""
    base, forms = forms_of(hint)
    count = len(problems)
    try:
        for form in reversed(forms):
            value = form.before(value)
        value = _typed(base, value, path, problems)
        for form in forms if len(problems) == count else ():
            value = form.after(value)
    except ValueError as error:
        problems.append(_Problem(path, str(error), 2 if isinstance(error, TooShort) else 1))
    return value


def _typed(base: Any, value: Any, path: Path, problems: list[_Problem]) -> Any:  # noqa: ANN401 - any YAML
    origin, parts = get_origin(base) or base, get_args(base)
    if origin is tuple:
        items = enumerate(_needed(list, value))
        return tuple([_value(parts[0], each, (*path, index), problems) for index, each in items])
    if origin is dict:
        return {
            _name(parts[0], name, (*path, name), problems): _value(parts[1], each, (*path, name), problems)
            for name, each in _needed(dict, value).items()
        }
    if isinstance(base, type) and issubclass(base, Record):
        count = len(problems)
        found = _mapping(keys_of(base), value, path, problems)
        return base(**found) if len(problems) == count else found
    if isinstance(base, EnumType):
        try:
            return base(value)
        except ValueError:
            raise NotAllowed(value, ", ".join(map(str, base))) from None
    return _needed(base, value) if base in _NEEDED else value


def _mapping(
    keys: Mapping[str, Key],
    value: object,
    path: Path,
    problems: list[_Problem],
) -> dict[str, Any]:
    try:
        written = _needed(dict, value).items()
    except ValueError as error:
        problems.append(_Problem(path, str(error)))
        return {}
    # A key without a value counts as missing.
    given = {name: each for name, each in written if each is not None or name not in keys}
    found = {}
    for name, key in keys.items():
        if name in given:
            found[name] = _value(key.hint, given[name], (*path, name), problems)
        elif key.is_needed:
            problems.append(_Problem(path, f"the key {name!r} is missing", 2))
    unknown = f"unknown key; allowed are {', '.join(keys)}"
    problems += [_Problem((*path, name), unknown, 0) for name in given if name not in keys]
    return found


def _name(hint: Any, name: str, path: Path, problems: list[_Problem]) -> str:  # noqa: ANN401 - any annotation
    try:
        for form in forms_of(hint)[1]:
            form.after(name)
    except NotAllowed as error:
        problems.append(_Problem(path, error.as_name))
    return name


def _needed(kind: type, value: Any) -> Any:  # noqa: ANN401 - any YAML
    """Return the value if it is of the type; a truth value is no number. Raise ValueError otherwise."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        found = _SHOWN.get(type(value), repr(value)[:100])
        raise ValueError(f"{_NEEDED[kind]} is needed, found {found}")
    return value
