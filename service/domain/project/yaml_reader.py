"""Read YAML and keep the line of each value for errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from service.domain.values.errors import BadProjectFile

_MAX_NODES: Final = 20_000  # aliases can make a small file expand without end
_MAX_DEPTH: Final = 32
_MAX_NUMBER: Final = 1 << 53  # JSON readers disagree about larger ones
_PLAIN_TAGS: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

Path = tuple[str | int, ...]  # the keys and indices that lead to a value


@dataclass(frozen=True, slots=True)
class Places:
    """A file's name and the line of each of its values; stored data has no lines."""

    file: str
    lines: dict[Path, int] = field(default_factory=dict)

    def error(self, path: Path, problem: str) -> BadProjectFile:
        """Make an error that names the line and key of a value."""
        key = "".join(f"[{each}]" if isinstance(each, int) else f".{each[:100]}" for each in path)
        return BadProjectFile(f"{key[1:]}: {problem}" if key else problem, self.file, self.lines.get(path, 0))


def read_yaml(text: str, file: str) -> tuple[Any, Places]:
    """Parse YAML into dicts, lists and scalars, with their places.

    Raises:
        BadProjectFile: not YAML, a duplicate key, a tag, too deep or too large.
    """
    try:
        loader = yaml.SafeLoader(text)
        tree = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))
        raise BadProjectFile(f"not YAML: {_problem(error)}", file, line + 1) from None
    except RecursionError:
        raise BadProjectFile(f"nested deeper than {_MAX_DEPTH} levels", file) from None
    if tree is None:
        raise BadProjectFile("the file is empty", file)
    places = Places(file)
    return _unfold(tree, (), loader, places), places


def _unfold(tree: yaml.Node, path: Path, loader: yaml.SafeLoader, places: Places) -> Any:  # noqa: ANN401
    """Build the value of a node; an alias is expanded, and counts each time."""
    places.lines[path] = tree.start_mark.line + 1
    if len(places.lines) > _MAX_NODES or len(path) > _MAX_DEPTH:
        problem = "too large or nested too deep once its aliases are unfolded"
        raise BadProjectFile(problem, places.file, places.lines[path])
    if isinstance(tree, yaml.ScalarNode):
        return _scalar(tree, path, loader, places)
    if tree.tag not in _PLAIN_TAGS:
        raise places.error(path, f"the tag {tree.tag[:100]} is not allowed")
    if isinstance(tree, yaml.SequenceNode):
        return [_unfold(each, (*path, index), loader, places) for index, each in enumerate(tree.value)]
    values: dict[str, Any] = {}
    for key, value in tree.value:
        inner = (*path, str(key.value))
        if not isinstance(key, yaml.ScalarNode) or not key.value.isprintable():
            places.lines[path] = key.start_mark.line + 1
            raise places.error(path, "a key must be a text of printable characters")
        if key.value in values:
            places.lines[inner] = key.start_mark.line + 1
            raise places.error(inner, "given twice")
        values[key.value] = _unfold(value, inner, loader, places)
    return values


def _scalar(tree: yaml.ScalarNode, path: Path, loader: yaml.SafeLoader, places: Places) -> Any:  # noqa: ANN401
    try:
        value = loader.construct_object(tree)
    except (yaml.YAMLError, ValueError) as error:
        raise places.error(path, f"cannot be read: {_problem(error)}") from None
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise places.error(path, "a number that large is not allowed")
    # Dates and the like stay texts.
    return value if isinstance(value, bool | int | float | str | None) else tree.value


def _problem(error: Exception) -> str:
    """Describe an error on one line."""
    parts = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    return ", ".join(str(part) for part in parts if part)[:300] or str(error)[:200] or type(error).__name__
