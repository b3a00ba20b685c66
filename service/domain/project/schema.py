"""Validate mappings of the project file by pydantic, and word its errors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.project.yaml_reader import Path, Places
    from service.domain.values.errors import BadProjectFile

MOST: Final = 100  # problems of one mapping
_T = TypeVar("_T")
_UNKNOWN: Final = "unexpected_keyword_argument"
# An unknown key comes first: it is often the misspelt form of a missing one.
_URGENCY: Final = {_UNKNOWN: 0, "missing": 2, "too_short": 2}
_SHOWN: Final[dict[type, str]] = {dict: "a mapping", list: "a list", type(None): "nothing"}
_MESSAGES: Final = {
    "missing": "the key {key!r} is missing",
    _UNKNOWN: "unknown key; allowed are {allowed}",
    "too_short": "at least one {item} is needed",
    "dict_type": "a mapping is needed, found {found}",
    "dataclass_type": "a mapping is needed, found {found}",
    "tuple_type": "a list is needed, found {found}",
    "bool_type": "true or false is needed, found {found}",
    "int_type": "a whole number is needed, found {found}",
    "greater_than_equal": "{found} is out of range; allowed is {minimum} to {maximum}",
    "less_than_equal": "{found} is out of range; allowed is {minimum} to {maximum}",
    "string_type": "a text is needed, found {found}",
    "string_unicode": "{text!r} is not allowed; allowed are {allowed}",
    "string_pattern_mismatch": "{text!r} is not allowed; allowed are {allowed}",
    "enum": "{text!r} is not allowed; allowed are {allowed}",
    "literal_error": "{text!r} is not allowed; allowed are {allowed}",
    "name": "{text!r} is not allowed as a name here; allowed are {allowed}",
    "value_error": "{error}",
}


def read(record: Callable[..., _T], value: object, at: Path, places: Places) -> _T:
    """Validate the mapping at a path of the file.

    Raises:
        BadProjectFile: the first problem, with line, key and the allowed values.
    """
    try:
        values: _T = _adapter(record).validate_python(value)
    except ValidationError as found:
        raise _errors(found, record, at, places)[0] from None
    return values


def problems_in(
    record: Callable[..., object], value: object, at: Path, places: Places
) -> tuple[BadProjectFile, ...]:
    """List the problems of the mapping at a path of the file, at most :data:`MOST`."""
    try:
        _adapter(record).validate_python(value)
    except ValidationError as found:
        return _errors(found, record, at, places)
    return ()


def _errors(
    found: ValidationError, record: Callable[..., object], at: Path, places: Places
) -> tuple[BadProjectFile, ...]:
    schema = _adapter(record).json_schema()
    errors = sorted(found.errors(), key=lambda each: _URGENCY.get(each["type"], 1))
    # Pydantic also reports a list as too short if its only element is wrong.
    wrong = {error["loc"][:length] for error in errors for length in range(len(error["loc"]))}
    shown = [error for error in errors if error["type"] != "too_short" or error["loc"] not in wrong][:MOST]
    explained = [_explain(error["type"], error, schema) for error in shown]
    return tuple(places.error((*at, *path), problem) for path, problem in explained)


def _explain(kind: str, error: Mapping[str, Any], schema: dict[str, Any]) -> tuple[Path, str]:
    """Return the path of the value, and the error in words from the value's JSON Schema."""
    path, found = error["loc"], error["input"]
    key = str(path[-1]) if path else ""
    outer = path[:-1]
    if key == "[key]":
        kind, path, node = "name", outer, _node(schema, outer[:-1])["propertyNames"]
    elif kind == "missing":
        path, node = outer, _node(schema, outer)
    else:
        node = _node(schema, outer if kind == _UNKNOWN else path)
    allowed = node.get("properties") or node.get("enum") or [node.get("const")]
    words = node | {
        "key": key,
        "item": key.removesuffix("s"),
        "text": str(found)[:100],
        "found": _SHOWN.get(type(found), repr(found)[:100]),
        "allowed": node.get("patternErrorMessage") or ", ".join(map(str, allowed)),
        "error": error.get("ctx", {}).get("error"),
    }
    return path, _MESSAGES[kind].format(**words)


def json_schemas(records: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build the JSON Schemas of several mappings by name, and their shared definitions."""
    inputs: Any = [(name, "validation", _adapter(record)) for name, record in records.items()]
    schemas, shared = TypeAdapter.json_schemas(inputs)
    return {name: schemas[name, "validation"] for name in records}, _tidy(shared["$defs"])


def _tidy(node: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """Drop titles, which only repeat the key, and null defaults."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _tidy(value)
        for key, value in node.items()
        if key != "title" and (key, value) != ("default", None)
    }


@cache
def _adapter(record: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a type of Record
    return TypeAdapter(record)


def _node(schema: dict[str, Any], path: Path) -> dict[str, Any]:
    """Find the JSON Schema of the value at a path."""
    node = schema
    for step in (None, *path):
        if step is not None:
            node = node["items"] if isinstance(step, int) else _value(node, step)
        while "$ref" in node:
            node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return node


def _value(node: dict[str, Any], key: str) -> dict[str, Any]:
    """Find the JSON Schema of a key's value, in a record or in a mapping by name."""
    if "properties" in node:
        values = node["properties"]
    else:
        key, values = next(iter(node["patternProperties"])), node["patternProperties"]
    found: dict[str, Any] = values[key]
    return found
