"""Parse one file of a manifest; an unknown element or attribute is an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput
from service.domain.values.text import brief, listed
from service.domain.values.xml import XmlParser

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST: Final = 2000  # characters of an attribute; each project gets the groups of the files around it
_WITHOUT_EFFECT: Final = frozenset(  # on the files of a workspace
    {"annotation", "contactinfo", "manifest-server", "notice", "repo-hooks", "superproject"}
)
# Allowed attributes of each element, by parent element. Those that no code reads do not affect the sources:
# they concern reviews, ways to fetch, or mirrors.
_KNOWN: Final[Mapping[str, Mapping[str, frozenset[str]]]] = MappingProxyType(
    {
        "": {"manifest": frozenset()},
        "manifest": {
            "remote": frozenset({"alias", "fetch", "name", "pushurl", "review", "revision"}),
            "default": frozenset(
                {
                    *("dest-branch", "remote", "revision", "sync-c", "sync-j", "sync-j-max"),
                    *("sync-s", "sync-tags", "upstream"),
                }
            ),
            "project": frozenset(
                {
                    *("clone-depth", "dest-branch", "force-path", "groups", "name", "path", "rebase"),
                    *("remote", "revision", "sync-c", "sync-s", "sync-tags", "upstream"),
                }
            ),
            "include": frozenset({"groups", "name"}),
            "remove-project": frozenset({"name", "optional", "path"}),
        },
        "project": {"copyfile": frozenset({"dest", "src"}), "linkfile": frozenset({"dest", "src"})},
    }
)


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its attributes; ``where`` is its file and line."""

    name: str
    attributes: Mapping[str, str]
    where: str
    children: list[Element] = field(default_factory=list)

    def required(self, name: str) -> str:
        """Return an attribute; raise BadInput if it is missing or empty."""
        value = self.attributes.get(name, "")
        if not value:
            raise BadInput(f"the attribute `{name}` of `{self.name}` is missing", self.where)
        return value

    def says(self, name: str) -> bool | None:
        """Read a boolean attribute as `repo` does; None if it is missing."""
        value = self.attributes.get(name, "").lower()
        return value in {"yes", "true", "1"} if value else None


def read_elements(text: str, file: str) -> tuple[Element, ...]:
    """Parse the elements of a file, in order, without those that do not affect the sources.

    Raises:
        BadInput: not XML, or it has a document type, an unknown element or an unknown attribute; names file
            and line.
    """
    return _Parser(file).read(text)


class _Parser:
    def __init__(self, file: str) -> None:
        self._file = file
        self._root = Element("", {}, file)
        self._open = [self._root]
        self._left_out = 0  # depth within an element without effect
        self._parser = XmlParser(self._start, self._end, self._fault)

    def read(self, text: str) -> tuple[Element, ...]:
        """Parse the whole document."""
        self._parser.feed(text)
        return tuple(self._root.children[0].children)

    @property
    def _where(self) -> str:
        return f"{self._file}:{self._parser.line}"

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        outer = self._open[-1]
        if self._left_out or (outer.name and name in _WITHOUT_EFFECT):
            self._left_out += 1
            return
        known = _KNOWN.get(outer.name, {})
        if name not in known:
            inside = f" inside `{outer.name}`" if outer.name else ""
            raise BadInput(f"Benchgate does not read the element {brief(name)}{inside}", self._where)
        if outer.name and (unknown := sorted(attributes.keys() - known[name])):
            names = listed([brief(each) for each in unknown])
            raise BadInput(f"Benchgate does not read {names} of `{name}`", self._where)
        for attribute, value in attributes.items():
            if len(value) > _LONGEST:
                raise BadInput(
                    f"the attribute {brief(attribute)} has more than {_LONGEST} characters", self._where
                )
        element = Element(name, attributes, self._where)
        outer.children.append(element)
        self._open.append(element)

    def _end(self, _: str) -> None:
        if self._left_out:
            self._left_out -= 1
        else:
            self._open.pop()

    def _fault(self, why: str, line: int) -> BadInput:
        return BadInput(why, f"{self._file}:{line}" if line else self._file)
