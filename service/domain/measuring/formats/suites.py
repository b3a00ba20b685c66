"""Find the format of a suite: the one that its job kind brings, or that of the library which it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.catch2 import CATCH2
from service.domain.measuring.formats.google import GOOGLE
from service.domain.measuring.formats.nanobench import NANOBENCH
from service.domain.project.benchmark import ALL_CPUS, Format, Suite

if TYPE_CHECKING:
    from service.domain.measuring.formats.program import ProgramFormat

LIBRARIES: Final[dict[Format, ProgramFormat]] = {
    Format.GOOGLE: GOOGLE,
    Format.NANOBENCH: NANOBENCH,
    Format.CATCH2: CATCH2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSuite(Suite):
    """A suite that a job kind makes of its own keys, with the format of its programs."""

    own_format: ProgramFormat
    metrics: tuple[str, ...] = ("real_time",)
    cpus: int = ALL_CPUS  # the number of its threads is not known


def format_of(suite: Suite) -> ProgramFormat:
    """Return the format of a suite's programs."""
    return suite.own_format if isinstance(suite, OwnSuite) else LIBRARIES[suite.format]
