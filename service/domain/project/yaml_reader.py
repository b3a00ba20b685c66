"""YAML read with its lines: each value knows where it stands, so an error can say so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import yaml

from service.domain.errors import BadProjectFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_NODES: Final = 20_000  # aliases can make a small file unfold without end
_MAX_DEPTH: Final = 32
_MAX_NUMBER: Final = 1 << 53  # beyond, JSON readers disagree
_PLAIN_TAGS: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Form:
    """What a text may look like: the regular expression for it, and the words for people."""

    pattern: str
    words: str

    def fits(self, text: str) -> bool:
        """Whether the whole text has this form and can be stored and handed to a program."""
        return re.fullmatch(self.pattern, text) is not None and not _UNUSABLE.search(text)


ANY_TEXT: Final = Form(r"(?s).{0,4096}", "texts of at most 4096 characters, without NUL")


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the place it was read from; ``value`` of a mapping or list holds Nodes."""

    value: Any
    where: str
    key: str = ""

    @staticmethod
    def of(plain: object, where: str, key: str = "") -> Node:
        """A Node over plain data (as stored), whose places are keys only."""
        if isinstance(plain, dict):
            return Node({k: Node.of(v, where, _join(key, k)) for k, v in plain.items()}, where, key)
        if isinstance(plain, list | tuple):
            return Node([Node.of(v, where, f"{key}[{i}]") for i, v in enumerate(plain)], where, key)
        return Node(plain, where, key)

    def error(self, what: str) -> BadProjectFile:
        """The error that names this place."""
        return BadProjectFile(f"{self.key}: {what}" if self.key else what, self.where)

    def plain(self) -> Any:  # noqa: ANN401 - it is whatever the file holds
        """The value without places: dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return [v.plain() for v in self.value]
        return self.value

    def only(self, *allowed: str) -> None:
        """Refuse every key of this mapping that is not among ``allowed``."""
        for key, node in self._mapping().items():
            if key not in allowed:
                raise node.error(f"unknown key; allowed are {', '.join(allowed)}")

    def get(self, key: str) -> Node | None:
        """The value at ``key``; None where it is missing or null."""
        node: Node | None = self._mapping().get(key)
        return None if node is None or node.value is None else node

    def need(self, key: str) -> Node:
        """The value at ``key``; an error where it is missing."""
        node = self.get(key)
        if node is None:
            raise self.error(f"the key {key!r} is missing")
        return node

    def items(self, form: Form) -> Iterator[tuple[str, Node]]:
        """The entries of a mapping whose keys have that form."""
        for key, node in self._mapping().items():
            if not form.fits(key):
                raise node.error(f"{key[:100]!r} is not allowed as a name here; allowed are {form.words}")
            yield key, node

    def text(self, form: Form = ANY_TEXT) -> str:
        """A string of that form."""
        if not isinstance(self.value, str):
            raise self.error(f"a text is needed, found {_kind(self.value)}")
        if not form.fits(self.value):
            raise self.error(f"{self.value[:100]!r} is not allowed; allowed are {form.words}")
        return self.value

    def whole(self, *, at_least: int = 0, at_most: int = 1 << 31) -> int:
        """A whole number between the bounds, both included."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.error(f"a whole number is needed, found {_kind(self.value)}")
        if not at_least <= self.value <= at_most:
            raise self.error(f"{self.value} is out of range; allowed is {at_least} to {at_most}")
        return self.value

    def one_of(self, *allowed: object) -> Any:  # noqa: ANN401 - the caller's own constants
        """One of the values given."""
        if self.value not in allowed or isinstance(self.value, bool):
            names = ", ".join(str(a) for a in allowed)
            raise self.error(f"{str(self.plain())[:100]!r} is not allowed; allowed are {names}")
        return self.value

    def list_at(self, key: str) -> list[Node]:
        """The list at ``key``; empty where it is missing."""
        node = self.get(key)
        if node is None:
            return []
        if not isinstance(node.value, list):
            raise node.error(f"a list is needed, found {_kind(node.value)}")
        return node.value

    def text_at(self, key: str, default: str, form: Form = ANY_TEXT) -> str:
        """The string at ``key``."""
        node = self.get(key)
        return default if node is None else node.text(form)

    def whole_at(self, key: str, default: int, *, at_least: int = 0, at_most: int = 1 << 31) -> int:
        """The whole number at ``key``."""
        node = self.get(key)
        return default if node is None else node.whole(at_least=at_least, at_most=at_most)

    def flag_at(self, key: str, *, default: bool) -> bool:
        """The boolean at ``key``."""
        node = self.get(key)
        if node is None:
            return default
        if not isinstance(node.value, bool):
            raise node.error(f"true or false is needed, found {_kind(node.value)}")
        return node.value

    def choice_at(self, key: str, default: str, *allowed: str) -> str:
        """One of ``allowed`` at ``key``."""
        node = self.get(key)
        return default if node is None else str(node.one_of(*allowed))

    def value_at(self, key: str, read: Callable[[Node], _T], default: _T) -> _T:
        """What ``read`` makes of the value at ``key``."""
        node = self.get(key)
        return default if node is None else read(node)

    def _mapping(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(f"a mapping is needed, found {_kind(self.value)}")
        return self.value


def read_yaml(text: str, where: str) -> Node:
    """Read YAML into Nodes.

    Raises:
        BadProjectFile: not YAML, a duplicate key, a tag, too deep or too large.
    """
    try:
        loader = yaml.SafeLoader(text)
        tree = loader.get_single_node()
    except yaml.YAMLError as error:
        raise BadProjectFile(f"not YAML: {_problem(error)}", f"{where}:{_line(error, text)}") from None
    except RecursionError:
        raise BadProjectFile(f"nested deeper than {_MAX_DEPTH} levels", where) from None
    if tree is None:
        raise BadProjectFile("the file is empty", where)
    return _Unfolding(where, loader).node(tree, "", 0)


def fraction(node: Node) -> float:
    """``1%`` or a plain number: 0.01."""
    value = node.value
    if isinstance(value, str) and (match := re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", value, re.ASCII)):
        share = float(match[1]) / 100
        if share <= 1:
            return share
    # Whoever writes 1 means 1 %, and would get 100 %.
    elif isinstance(value, int | float) and not isinstance(value, bool) and (value == 0 or 0 < value < 1):
        return float(value)
    raise node.error(f"{str(node.plain())[:100]!r} is not a share; allowed are 0% to 100%, or 0.01 for 1%")


def duration(node: Node) -> float:
    """``90s``, ``10m``, ``2h`` or plain seconds, in seconds."""
    value = node.value
    if isinstance(value, str) and (
        match := re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s|m|h)", value, re.ASCII)
    ):
        return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e7:  # noqa: PLR2004
        return float(value)
    raise node.error(
        f"{str(node.plain())[:100]!r} is not a duration; allowed are 500ms, 90s, 10m, 2h or seconds"
    )


class _Unfolding:
    """Turns the loader's nodes into ours, counting what aliases unfold to."""

    def __init__(self, where: str, loader: yaml.SafeLoader) -> None:
        self._where = where
        self._loader = loader
        self._seen = 0

    def node(self, tree: yaml.Node, key: str, depth: int) -> Node:
        place = f"{self._where}:{tree.start_mark.line + 1}"
        self._seen += 1
        if self._seen > _MAX_NODES or depth > _MAX_DEPTH:
            raise BadProjectFile("too large or nested too deep once its aliases are unfolded", place)
        if not isinstance(tree, yaml.ScalarNode) and tree.tag not in _PLAIN_TAGS:
            raise BadProjectFile(f"{key}: the tag {tree.tag[:100]} is not allowed", place)
        if isinstance(tree, yaml.MappingNode):
            return Node(self._mapping(tree, key, depth), place, key)
        if isinstance(tree, yaml.SequenceNode):
            items = [self.node(each, f"{key}[{i}]", depth + 1) for i, each in enumerate(tree.value)]
            return Node(items, place, key)
        try:
            value = self._loader.construct_object(tree)
        except yaml.YAMLError as error:
            raise BadProjectFile(f"{key}: cannot be read: {_problem(error)}", place) from None
        except ValueError as error:
            raise BadProjectFile(f"{key}: cannot be read: {str(error)[:200]}", place) from None
        if isinstance(value, int) and abs(value) > _MAX_NUMBER:
            raise BadProjectFile(f"{key}: a number that large is not allowed", place)
        # Dates and the like are texts here: the file has no use for them.
        return Node(value if isinstance(value, bool | int | float | str | None) else tree.value, place, key)

    def _mapping(self, tree: yaml.MappingNode, key: str, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for name_node, value_node in tree.value:
            place = f"{self._where}:{name_node.start_mark.line + 1}"
            if not isinstance(name_node, yaml.ScalarNode):
                raise BadProjectFile(f"{key}: a key must be a text".removeprefix(": "), place)
            name = str(name_node.value)
            if name in found:
                raise BadProjectFile(f"{_join(key, name)}: given twice", place)
            found[name] = self.node(value_node, _join(key, name), depth + 1)
        return found


def _problem(error: yaml.YAMLError) -> str:
    """What is wrong, on one line."""
    parts = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    return ", ".join(str(part) for part in parts if part)[:300] or type(error).__name__


def _line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    return (mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))) + 1


def _join(key: str, name: str) -> str:
    return f"{key}.{name[:100]}" if key else name[:100]


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else repr(value)[:100]
