"""The reader of one file of a manifest: its elements, of which only known ones are accepted."""

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
# The attributes of each element, by the element that it is in. Those that no code here reads change nothing:
# they are about reviews, about the way to fetch, or about mirrors.
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
        """Return an attribute; BadInput if it is missing or empty."""
        value = self.attributes.get(name, "")
        if not value:
            raise BadInput(f"the attribute `{name}` of `{self.name}` is missing", self.where)
        return value

    def says(self, name: str) -> bool | None:
        """Return the truth of an attribute as `repo` reads it; None if it is missing."""
        value = self.attributes.get(name, "").lower()
        return value in {"yes", "true", "1"} if value else None


def read_elements(text: str, file: str) -> tuple[Element, ...]:
    """Read the elements of a manifest's file, in order, without those that change no file.

    Raises:
        BadInput: it is not XML, has a document type, or an element or attribute that is not known; names the
            file and line.
    """
    return _Document(file).read(text)


class _Document:
    def __init__(self, file: str) -> None:
        self._file = file
        self._root = Element("", {}, file)
        self._open = [self._root]
        self._left_out = 0  # levels below an element without effect
        self._parser = XmlParser(self._start, self._end, self._fault)

    def read(self, text: str) -> tuple[Element, ...]:
        """Read the whole document."""
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
