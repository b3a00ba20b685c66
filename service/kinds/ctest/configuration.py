"""The configuration of a job that runs tests by CTest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from service.domain.forms import Text, about
from service.domain.project.build_commands import InnerPath  # noqa: TC001 - keys_of reads it
from service.domain.project.tests import TestsConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class CTestConfiguration(TestsConfiguration):
    """The keys that only jobs of kind ctest have."""

    directory: Annotated[InnerPath, about("with the tests: ctest's --test-dir")] = "build"
    filter: Annotated[Text, about("a regular expression: ctest's --tests-regex")] = ""
    args: Annotated[tuple[Text, ...], about("further arguments of ctest")] = ()


CONFIGURATION: Final = CTestConfiguration
