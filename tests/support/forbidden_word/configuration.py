"""The configuration of a tiny kind of jobs: text files of a patch set must not contain a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from service.domain.project.forms import Text, about
from service.domain.project.job_kinds import Configuration


@dataclass(frozen=True, slots=True)
class WordConfiguration(Configuration):
    word: Annotated[Text, about("the word that no text file may contain")]


CONFIGURATION: Final = WordConfiguration
