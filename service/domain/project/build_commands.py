"""Configure the commands that build a revision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

from service.domain.project.dependencies import Pinned
from service.domain.project.forms import Duration, Record, Size, Text, about, text

MEMORY: Final = 16 << 30  # bytes; more than the linker of a large project needs
DISK: Final = 20 << 30  # bytes; object files of a large project with debug information
_INSIDE: Final = "paths inside the source tree, without '..', on one line"
InnerPath = Annotated[str, text(r"(?!/)(?!.*(^|/)\.\.(/|$))[^\x00\n]{1,500}", _INSIDE)]


@dataclass(frozen=True, slots=True)
class BuildCommands(Record):
    """Commands that turn a source tree into programs; both run in ``/src`` by ``sh -c``."""

    configure: Annotated[Text, about("runs first, by sh -c in /src")] = ""
    compile: Annotated[Text, about("runs second")] = ""
    keep: Annotated[
        tuple[InnerPath, ...], about("paths below the build directory to keep beside programs")
    ] = ()
    timeout: Annotated[Duration, about("for each command")] = 1800.0
    memory: Annotated[Size, about("for each command, with all its processes")] = MEMORY
    disk: Annotated[Size, about("for the sources with all that builds and tests write beside them")] = DISK
    dependencies: Annotated[Pinned, about("of this job; default: those of the file")] = field(
        default_factory=dict, hash=False
    )
