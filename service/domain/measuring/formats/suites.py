"""Find the format of a suite: that of the library which it names, or that of the job kind which made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from service.domain.measuring.formats.catch2 import CATCH2
from service.domain.measuring.formats.ctest import CTest
from service.domain.measuring.formats.google import GOOGLE
from service.domain.measuring.formats.gtest import GTest
from service.domain.measuring.formats.nanobench import NANOBENCH
from service.domain.project.benchmark import Format, OwnSuite, Suite
from service.domain.project.tests import CTestConfiguration, GTestConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.measuring.formats.program import ProgramFormat
    from service.domain.project.configuration import Configuration

LIBRARIES: Final[dict[Format, ProgramFormat]] = {
    Format.GOOGLE: GOOGLE,
    Format.NANOBENCH: NANOBENCH,
    Format.CATCH2: CATCH2,
}
OWN: Final[dict[type[Configuration], Callable[[Any], ProgramFormat]]] = {
    CTestConfiguration: lambda own: CTest(directory=own.directory, memory=own.memory),
    GTestConfiguration: lambda own: GTest(memory=own.memory),
}


def format_of(suite: Suite) -> ProgramFormat:
    """Return the format of a suite's programs."""
    return OWN[type(suite.own)](suite.own) if isinstance(suite, OwnSuite) else LIBRARIES[suite.format]
