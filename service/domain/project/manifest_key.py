"""Configure the manifest that lists all repositories of a project."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final

from service.domain.project.build_commands import InnerPath
from service.domain.project.dependencies import COMMIT
from service.domain.project.forms import Record, about, after, text
from service.domain.sources.allowed import SourceUrl
from service.domain.sources.submodules import may_mislead
from service.domain.values.errors import BadInput

DEFAULT_FILE: Final = "default.xml"  # as `repo init` has it
_RELATIVE: Final = r"(?:\.\./)+[A-Za-z0-9_][A-Za-z0-9._/-]{0,300}"
_FORMS: Final = "URLs that begin with https://, or addresses such as ../manifest beside this repository"
_GROUP: Final = r"-?[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}"
BRANCH: Final = r"(?!refs/)[A-Za-z0-9_](?!.*\.\.)[A-Za-z0-9_.+@#,=/-]{0,199}"


def _address(url: str) -> str:
    if url.startswith("../"):
        if {"", ".", ".."} & {*re.sub(r"^(?:\.\./)+", "", url).split("/")}:
            raise ValueError(f"{url!r} is not allowed; allowed are {_FORMS}")
        return url
    try:
        SourceUrl.parse(url)
    except BadInput as error:
        raise ValueError(str(error)) from None
    if may_mislead(url):
        raise ValueError(f"{url!r} is not allowed; allowed are {_FORMS}")
    return url


@dataclass(frozen=True, slots=True)
class ManifestKey(Record):
    """A manifest of Google's ``repo``, in a Git repository."""

    git: Annotated[
        str,
        text(rf"{_RELATIVE}|[a-z]+://[!-~]{{1,1990}}", _FORMS),
        after(_address),
        about("the repository of the manifest; ../NAME is beside this one"),
    ]
    branch: Annotated[
        str | None, text(BRANCH, "names of branches without refs/heads/"), about("of that repository")
    ] = None
    commit: Annotated[str | None, COMMIT, about("of that repository, instead of a branch")] = None
    file: Annotated[InnerPath, about("the manifest's file")] = DEFAULT_FILE
    groups: Annotated[
        tuple[Annotated[str, text(_GROUP, "names of groups; a minus before one leaves it out")], ...],
        about("the groups of projects, as `repo init -g` takes them"),
    ] = ()

    @property
    def revision(self) -> str:
        """The commit, or the ref of the branch."""
        return self.commit or f"refs/heads/{self.branch}"


def _with_one_revision(key: ManifestKey) -> ManifestKey:
    if (key.branch is None) == (key.commit is None):
        raise ValueError("a manifest has either `branch` or `commit`")
    return key


Manifest = Annotated[
    ManifestKey | None,
    after(_with_one_revision),
    about("the manifest of a project of several repositories"),
]
