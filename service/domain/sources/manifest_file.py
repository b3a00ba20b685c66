"""The reader of one file of a manifest: its elements, of which only known ones are accepted."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from xml.parsers import expat  # a document type is refused, and with it all entities

from service.domain.values.errors import BadInput
from service.domain.values.text import brief, listed

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
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, text: str) -> tuple[Element, ...]:
        """Read the whole document."""
        try:
            self._parser.Parse(text, True)  # noqa: FBT003 - expat takes it by position
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise BadInput(f"it is not XML: {reason}", f"{self._file}:{error.lineno}") from None
        except (LookupError, ValueError) as error:  # of an encoding that the document names
            raise BadInput(f"it cannot be decoded: {brief(str(error))}", self._file) from None
        return tuple(self._root.children[0].children)

    @property
    def _where(self) -> str:
        return f"{self._file}:{self._parser.CurrentLineNumber}"

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

    def _refuse_document_type(self, *_: object) -> None:
        raise BadInput("it has a document type", self._where)
