"""Parse XML that somebody else wrote: a document type is refused, and all entities with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from service.domain.values.text import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.values.errors import BadInput

_BUFFER: Final = 1 << 16  # bytes of text that one call of the text handler gets


class XmlParser:
    """Call handlers for the elements of one document, piece by piece.

    Args:
        start: gets the name and the attributes of an element that opens.
        end: gets the name of an element that closes.
        fault: makes the error to raise, from what is wrong and the line; 0 if no line is to blame.
        text: gets the text between tags, in parts.
    """

    def __init__(
        self,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None],
        fault: Callable[[str, int], BadInput],
        text: Callable[[str], None] | None = None,
    ) -> None:
        self._fault = fault
        self._parser: Any = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler = start
        self._parser.EndElementHandler = end
        if text:
            self._parser.buffer_text = True
            self._parser.buffer_size = _BUFFER
            self._parser.CharacterDataHandler = text

    @property
    def line(self) -> int:
        """The line that is being parsed."""
        return int(self._parser.CurrentLineNumber)

    @property
    def position(self) -> int:
        """Offset in bytes of the tag or text being parsed."""
        return int(self._parser.CurrentByteIndex)

    def feed(self, data: bytes | str, *, is_last: bool = True) -> None:
        """Parse the next piece.

        Raises:
            BadInput: the fault; it is not XML, cannot be decoded or has a document type.
        """
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            raise self._fault(f"it is not XML: {expat.ErrorString(error.code)}", error.lineno) from None
        except (LookupError, ValueError) as error:  # of an encoding that the document names
            raise self._fault(f"it cannot be decoded: {brief(str(error))}", 0) from None

    def _refuse_document_type(self, *_: object) -> None:
        raise self._fault("it has a document type", self.line)
