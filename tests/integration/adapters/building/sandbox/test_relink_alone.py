"""Relink by the linker alone: build commands cannot choose what is linked, or it is known that they could."""

from __future__ import annotations

import filecmp
from typing import TYPE_CHECKING

import pytest

from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.build_commands import BuildCommands
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.tests import CTestConfiguration
from service.domain.verdict.comparison.link_layout import BATCHES
from service.steps.building.build_sides import built_tree, relinked_tree
from tests.integration.adapters.building.sandbox.test_relink import ARCHIVED, NAMES, Builder
from tests.support.building.build_host import session_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

ANY = BATCHES[0][0]  # all relinks of a batch are made in one way, when the first of them is asked for
OTHER_FUNCTION = "int f_other(void) { return 1; }"


def other_if(condition: str) -> str:
    """Write a compile command that adds a function to the program if a condition holds."""
    added = f"cp a.c build/a.c; printf '{OTHER_FUNCTION}' >> build/a.c; gcc -fPIC -c -o build/a.o build/a.c"
    return f"make CC=gcc build/a.o; if {condition}; then {added}; fi; make CC=gcc"


@pytest.mark.parametrize("kind", [JobKind("benchmark"), JobKind("ctest")])
def test_a_build_that_compiles_other_code_if_it_has_a_seed_is_not_asked(
    tmp_path: Path, kind: JobKind
) -> None:
    builder = Builder(tmp_path)
    build = BuildCommands(compile=other_if('[ -n "$BENCHGATE_RELINK_SEED" ]'), keep=("**",))
    if kind == JobKind("ctest"):
        job = Job("tests", kind, CTestConfiguration(compare=True, build=build))
    else:
        job = Job("perf", kind, BenchmarkConfiguration(build=build, suites=(Suite("a", "build/bench"),)))
    places = builder.places_of(builder.commit(), job, (0, *BATCHES[0]))

    assert not [name for program, _ in places for name, _ in program if name == "f_other"]
    assert len({program for program, _ in places}) == 1 + len(BATCHES[0])
    assert builder.built_again == set()


COPIED = """\
sed 's|-o $@ $^ -Wl|-o build/b $^ -Wl|; s|^build/liblast|\tcp build/b $@\\n&|' Makefile > build/rules
make -f build/rules CC=gcc
"""


@pytest.mark.parametrize(
    "compile_",
    [
        pytest.param(other_if('[ -n "$COMPILER_PATH" ]'), id="compiles other code for all relinks"),
        pytest.param(COPIED, id="copies what it links"),
    ],
)
def test_relinks_that_the_linker_alone_does_not_make_are_known(tmp_path: Path, compile_: str) -> None:
    builder = Builder(tmp_path)
    places = builder.places(builder.commit(), BuildCommands(compile=compile_), (0, *BATCHES[0]))

    assert len(set(places)) == 1 + len(BATCHES[0])
    assert builder.built_again == set(BATCHES[0])
    assert b"because the linker alone does not make those as built: " in builder.log.kept()


def test_all_but_programs_and_shared_objects_is_as_built(tmp_path: Path) -> None:
    """Files that differ in each compile, as logs do, and data that programs read."""
    builder = Builder(tmp_path)
    compile_ = "mkdir -p build/log; date > build/log/$(date +%N); date +%N > build/a.conf; make CC=gcc"
    build = BuildCommands(compile=compile_, keep=("**",))
    job = Job("tests", JobKind("ctest"), CTestConfiguration(compare=True, build=build))
    session = session_of(builder.host, job, builder.claimed)
    revision = builder.commit()
    with built_tree(session, revision) as first, relinked_tree(session, revision, 1) as (again, is_built):
        old, new = first / "build", again / "build"
        names = [{file.relative_to(build) for file in build.rglob("*")} for build in (old, new)]
        compared = filecmp.cmpfiles(old, new, ["a.conf", "a.o", "bench", "liblast.so"], shallow=False)

    assert not is_built
    assert names[0] == names[1]
    assert compared == (["a.conf", "a.o"], ["bench", "liblast.so"], [])


@pytest.mark.parametrize("flags", ["", "-flto", "-O2 -g -s", "-static"])
def test_a_link_by_one_command_from_sources_is_repeated(tmp_path: Path, flags: str) -> None:
    """The compiler removes its object files, which have names of their own in each compile."""
    builder = Builder(tmp_path)
    files = " ".join(f"{name}.c" for name in (*NAMES, *ARCHIVED, "main"))
    compile_ = f"gcc {flags} {files} -o build/bench && gcc -shared -fPIC y.c z.c -o build/liblast.so"
    places = builder.places(builder.commit(), BuildCommands(compile=compile_), (0, *BATCHES[0]))

    assert builder.built_again == set()
    assert len(set(places)) == 1 + len(BATCHES[0])


def test_a_linker_of_the_project_does_not_link_again(tmp_path: Path) -> None:
    """A build can write what it likes into the record."""
    builder = Builder(tmp_path)
    forge = "for link in /linked/links/*; do echo COMPILER_PATH=/src > $link/environment; done"
    build = BuildCommands(compile=f"chmod +x ld; make CC=gcc; ! [ -d /linked ] || {{ {forge}; }}")
    builder.places(builder.commit(ld='#!/bin/sh\nexec /usr/bin/ld "$@"\n'), build, (0, ANY))

    assert builder.built_again == {ANY}


@pytest.mark.parametrize(
    "forged",
    [
        # Each links its own linker or objects first, where it can write, or names them in a way of its own.
        pytest.param("mkdir -p /tmp/own; echo COMPILER_PATH=/tmp > $link/environment", id="a linker in /tmp"),
        pytest.param("echo \"'--plugin=/src/evil.so'\" >> $link/arguments", id="a quoted plugin"),
        pytest.param("echo @/src/more >> $link/arguments", id="a plugin in a nested response file"),
        pytest.param("echo '-o /src/build/main.o' >> $link/arguments", id="another output"),
        pytest.param("echo link.sh > $link/name", id="no linker"),
    ],
)
def test_a_forged_record_is_not_repeated(tmp_path: Path, forged: str) -> None:
    builder = Builder(tmp_path)
    forge = f"for link in /linked/links/*; do {forged}; done"
    build = BuildCommands(compile=f"make CC=gcc; ! [ -d /linked ] || {{ {forge}; }}")
    builder.places(builder.commit(more="--plugin=/src/evil.so\n"), build, (0, ANY))

    assert builder.built_again == {ANY}
