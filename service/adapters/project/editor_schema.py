"""Write the JSON Schema with which editors complete and check benchgate.yaml."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from enum import EnumType
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from service.domain.project.forms import Record
from service.domain.project.job_kinds import KINDS, JobKind
from service.domain.project.project_file import WrittenFile, job_keys
from service.domain.project.validation import forms_of, keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.project.validation import Key

Node = dict[str, Any]
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}


def editor_schema() -> Node:
    """Build the file's JSON Schema."""
    shared: Node = {}
    file = _mapping(keys_of(WrittenFile), shared, WrittenFile.__doc__)
    for kind in KINDS:
        shared[f"{kind}_job"] = _mapping(job_keys(JobKind(kind)), shared)
    jobs = file["properties"]["jobs"]
    some_kind = {"oneOf": [{"$ref": f"#/$defs/{kind}_job"} for kind in KINDS]}
    jobs["patternProperties"] = dict.fromkeys(jobs["patternProperties"], some_kind)
    jobs["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **file,
        "$defs": dict(sorted(shared.items())),
    }


def _mapping(keys: Mapping[str, Key], shared: Node, description: str | None = None) -> Node:
    node: Node = {"additionalProperties": False}
    if description:
        node["description"] = inspect.cleandoc(description)
    node["properties"] = {name: _key(key, shared) for name, key in keys.items()}
    if needed := [name for name, key in keys.items() if key.is_needed]:
        node["required"] = needed
    return node | {"type": "object"}


def _key(key: Key, shared: Node) -> Node:
    node, default = _value(key.hint, shared), key.field.default
    return node if default in {MISSING, None} else _sorted(node | {"default": default})


def _value(hint: Any, shared: Node) -> Node:  # noqa: ANN401 - any annotation
    base, forms = forms_of(hint)
    node = _typed(base, shared)
    for form in forms:
        node |= form.editor
    return _sorted(node)


def _typed(base: Any, shared: Node) -> Node:  # noqa: ANN401 - any annotation
    origin, parts = get_origin(base), get_args(base)
    if origin is tuple:
        return {"items": _value(parts[0], shared), "type": "array"}
    if origin is dict:
        name, value = _value(parts[0], shared), _value(parts[1], shared)
        return {
            "patternProperties": {name["pattern"]: value},
            "propertyNames": {"patternErrorMessage": name["patternErrorMessage"]},
            "type": "object",
        }
    if isinstance(base, type) and issubclass(base, Record):
        shared[base.__name__] = _mapping(keys_of(base), shared, base.__doc__)
    elif isinstance(base, EnumType):
        shared[base.__name__] = {
            "description": inspect.cleandoc(base.__doc__ or ""),
            "enum": list(base),
            "type": "string",
        }
    else:
        return {"type": _TYPES[base]} if base in _TYPES else {}
    return {"$ref": f"#/$defs/{base.__name__}"}


def _sorted(node: Node) -> Node:
    return dict(sorted(node.items()))
