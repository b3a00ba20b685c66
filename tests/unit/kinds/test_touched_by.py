"""Find a patch set's touched lines, by paths from the top of all sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.project_file import parse_job
from service.domain.sources.workspace import Workspace
from service.domain.values.identity import RunKind
from service.kinds.linting import touched_by
from service.steps.building.session import BuildSession
from tests.support.building.build_host import MemoryClaimed, MemorySandbox, Silence, memory_host
from tests.support.kinds.linted import patch_set

if TYPE_CHECKING:
    from pathlib import Path

JOB = parse_job("lint", {"kind": "clang-tidy", "paths": ["src/"]})


def test_a_project_of_several_repositories_has_its_files_in_its_folder(tmp_path: Path) -> None:
    source = patch_set({"README": "x"}, {"README": "x", "src/a.cc": "int a;\n", "b.cc": "int b;\n"})
    base, patch = (Revision(name, name, name, "reviewed") for name in ("base", "patch"))
    workspace = Workspace("https://h/m", "c" * 40, "team/core")
    spec = BuildSpec(RunKind.CHECK, "gerrit", "kv", "main", base, patch, JOB, workspace=workspace)
    host = memory_host(source, MemorySandbox(), tmp_path)
    touched = touched_by(BuildSession(MemoryClaimed(), spec, host, Silence()))

    assert list(touched.sources) == ["team/core/src/a.cc"], "the job's `paths` are those of the repository"
    assert touched.changed == {"team/core/src/a.cc", "team/core/b.cc"}
