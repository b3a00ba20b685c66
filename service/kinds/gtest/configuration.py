"""The configuration of a job that runs GoogleTest programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

from service.domain.forms import Text, about, differ, limit
from service.domain.project.build_commands import InnerPath  # noqa: TC001 - keys_of reads it
from service.domain.project.tests import TestsConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class GTestConfiguration(TestsConfiguration):
    """The keys that only jobs of kind gtest have."""

    # field() hides the property of the base, which would be the default.
    programs: Annotated[
        tuple[InnerPath, ...], limit(min_length=1), differ("programs"), about("such as build/unit_test")
    ] = field()
    filter: Annotated[Text, about("GoogleTest's --gtest_filter")] = ""
    args: Annotated[tuple[Text, ...], about("further arguments of each program")] = ()


CONFIGURATION: Final = GTestConfiguration
