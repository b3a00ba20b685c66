"""Launch programs of libraries that cannot choose benchmarks by name: each launch runs and lists them all."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.catch2 import read_catch2
from service.domain.measuring.formats.foreign import ForeignProgram
from service.domain.measuring.formats.nanobench import read_nanobench
from service.domain.project.benchmark import Format
from service.domain.values.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.measuring.formats.foreign import ForeignBenchmark
    from service.domain.project.benchmark import Suite

_TAGGED: Final = "[!benchmark]"
_CATCH2_FLAGS: Final = (
    "--benchmark-no-analysis",  # resampling takes longer than measuring, and only the mean is read
    *("--order", "decl"),  # both sides run the benchmarks in the same order
    *("--rng-seed", "1"),  # and with the same random numbers
)


class NotMeasured(BadResults):
    """A launch left nothing to compare; ``program`` is the kind of the program if that explains it."""

    def __init__(self, what: str, program: ForeignProgram | None = None) -> None:
        super().__init__(what)
        self.program = program


@dataclass(frozen=True, slots=True)
class WholeProgram:
    """Redirection of standard output, flags and reader for the programs of a library.

    ``unreadable`` and ``empty`` are the likely faults of programs with unreadable results or no benchmark.
    """

    output: str
    flags: Callable[[Suite], tuple[str, ...]]
    read: Callable[[bytes], tuple[ForeignBenchmark, ...]]
    unreadable: ForeignProgram | None = None
    empty: ForeignProgram | None = None


WHOLE_PROGRAMS: Final[Mapping[Format, WholeProgram]] = MappingProxyType(
    {
        # Appended, so that a program that opens /dev/stdout does not overwrite its own lines.
        Format.NANOBENCH: WholeProgram(
            '>>"{}"', lambda _: (), read_nanobench, unreadable=ForeignProgram.NO_JSON
        ),
        Format.CATCH2: WholeProgram(
            '--reporter xml --out "{}" >/dev/null',
            lambda suite: (suite.filter or _TAGGED, *_CATCH2_FLAGS),
            read_catch2,
            empty=ForeignProgram.NO_BENCHMARK,
        ),
    }
)


def read_whole(library: Format, output: bytes, failure: str) -> tuple[ForeignBenchmark, ...]:
    """Read the results of a launch.

    Args:
        library: of the program.
        output: the file that it left.
        failure: how the program failed; empty if it did not. It is acceptable if a benchmark failed.

    Raises:
        NotMeasured: the results cannot be read, or the program failed without a failed benchmark.
    """
    known = WHOLE_PROGRAMS[library]
    try:
        found = known.read(output)
    except BadResults as error:
        if failure:
            raise NotMeasured(failure) from None
        raise NotMeasured(f"results of {library}: {error.what}", known.unreadable) from None
    if failure and not found:
        raise NotMeasured(f"{failure}, and no benchmark ran", known.empty)
    if failure and not any(each.error for each in found):
        raise NotMeasured(f"{failure}, although no benchmark failed")
    return found
