"""Relink a project's shared objects like its programs, if its build can make them again."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.build_commands import BuildCommands
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.values.errors import CommandFailed
from service.steps.building.build_log import BuildLog
from service.steps.building.build_sources import build_directory
from service.steps.building.compiler_cache import Cached
from service.steps.building.link_again import Relinking, compile_for_relinking
from service.wiring.build_host import make_build_host
from tests.integration.adapters.building.sandbox.sandboxed import without_neighbours
from tests.support.building.build_host import session_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.steps.building.session import BuildHost

pytestmark = pytest.mark.integration

SEEDS = (1_234_567, 98_765_432)
# libfoo.so.0.1 needs libdep.so.1, and its links are made once, as Meson does.
RULES = """\
LINK = gcc -Wl,-rpath,'$$ORIGIN'
DEP = build/libdep.so
LIBS = -L$(dir $(DEP)) -ldep
build/bench: build/main.o build/libfoo.so.0.1
\t$(LINK) -o $@ build/main.o -Lbuild -l:libfoo.so.0 $(LIBS)
build/libfoo.so.0.1: build/a.o build/b.o build/c.o $(DEP)
\t$(LINK) -shared -Wl,-soname,libfoo.so.0 -o $@ build/a.o build/b.o build/c.o $(LIBS)
build/%.o: %.c
\techo compiled >> build/compiled
\tgcc -fPIC -c -o $@ $<
"""
DEP = """\
build/libdep.so: build/d.o build/e.o
\t$(LINK) -shared -o $@ $^
"""
CONFIGURE = "ln -s libfoo.so.0 build/libfoo.so; ln -s libfoo.so.0.1 build/libfoo.so.0"
# A part of the build that looks at its own stamp only.
STAMPED = """\
build/libdep.so: build/stamp ;
build/stamp: build/d.o build/e.o
\t$(LINK) -shared -o build/libdep.so $^
\ttouch $@
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> BuildHost:
    home = tmp_path_factory.mktemp("home")
    return without_neighbours(make_build_host(home, lambda _: "", (), is_sandboxed=False))


class Project:
    """A program, a shared object that it loads, and one that this loads, built by make."""

    def __init__(self, tree: Path, host: BuildHost) -> None:
        self.tree = tree
        self.log = BuildLog()
        self._host = host
        build_directory(tree)
        for name in "abcde":
            (tree / f"{name}.c").write_text(f"int f_{name}(void) {{ return 1; }}\n")
        (tree / "main.c").write_text(
            "int f_a(void);\nint f_d(void);\nint main(void) { return f_a() - f_d(); }\n"
        )

    def compiled(
        self,
        rules: str = RULES + DEP,
        configure: str = CONFIGURE,
        compile_: str = "make",
        program: str = "build/bench",
    ) -> Relinking:
        """Build it once, so that it can be linked again."""
        (self.tree / "Makefile").write_text(rules)
        configuration = BenchmarkConfiguration(
            build=BuildCommands(configure=configure, compile=compile_), suites=(Suite("a", program),)
        )
        session = session_of(self._host, Job("perf", JobKind("benchmark"), configuration))
        linked = self.tree.with_name("linked")
        linked.mkdir()
        assert self._host.linkers is not None
        session = replace(session, log=self.log)
        return compile_for_relinking(session, self.tree, Cached(), self._host.linkers, linked)

    def places(self, name: str) -> str:
        """List the addresses of the functions of a file in the build directory."""
        argv = ("nm", "-n", self.tree / "build" / name)
        listed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        return "\n".join(re.findall(r"^[0-9a-f]+ [Tt] (?:f_[a-z]|main)$", listed, re.MULTILINE))

    def run(self) -> None:
        """Run the program, which ends with an error if it does not find its functions."""
        subprocess.run([self.tree / "build/bench"], check=True)

    @property
    def compilations(self) -> int:
        return len((self.tree / "build/compiled").read_text().splitlines())


@pytest.fixture
def project(tmp_path: Path, host: BuildHost) -> Project:
    tree = tmp_path / "sources"
    tree.mkdir()
    return Project(tree, host)


@pytest.mark.parametrize("link", [Relinking.link, Relinking.build])
def test_shared_objects_that_load_each_other_get_new_places(
    project: Project, link: Callable[[Relinking, int], None]
) -> None:
    compiled = project.compiled()
    names = ("bench", "libfoo.so.0", "libdep.so")
    places = [[project.places(name) for name in names]]
    for seed in SEEDS:
        link(compiled, seed)
        project.run()
        places.append([project.places(name) for name in names])

    assert [len(set(each)) for each in zip(*places, strict=True)] == [3, 3, 3]
    assert project.compilations == 6
    assert (project.tree / "build/libfoo.so").is_symlink()


def test_the_linker_alone_links_what_a_name_leads_to(project: Project) -> None:
    """The linker also takes what no longer exists, and names that a shell would change."""
    odd = 'build/it\'s "a" \\ name.o'
    listed = shlex.quote(re.sub(r"(\W)", r"\\\1", odd))
    lines = [
        "make build/main.o build/a.o build/d.o",
        f"mv build/a.o {shlex.quote(odd)}",
        f"printf '%s\\n' build/main.o build/d.o {listed} > list",
        "gcc -o build/bench @list",
        "rm list",
    ]
    compiled = project.compiled(
        configure="ln -s bench build/link", compile_="\n".join(lines), program="build/link"
    )
    before, program = project.places("bench"), (project.tree / "build/bench").read_bytes()
    compiled.link()
    assert (project.tree / "build/bench").read_bytes() == program
    compiled.link(SEEDS[0])
    project.run()

    assert project.places("bench") != before
    assert (project.tree / "build/link").is_symlink()


def test_what_the_linker_did_not_link_is_missing_after_it_links_alone(project: Project) -> None:
    rules = RULES.replace("$(LINK) -o $@ build/main.o", "$(LINK) -o build/made build/main.o") + DEP
    compiled = project.compiled(
        rules.replace("build/libfoo.so.0.1:", "\tcp build/made $@\nbuild/libfoo.so.0.1:", 1)
    )
    compiled.link()

    assert not (project.tree / "build/bench").exists()
    assert (project.tree / "build/libdep.so").exists()


def test_a_shared_object_from_elsewhere_stays(project: Project) -> None:
    """The project has it from another build; no rule of its own makes it."""
    elsewhere = "gcc -shared -fPIC -o elsewhere.so d.c e.c && cp elsewhere.so build/libdep.so"
    compiled = project.compiled(RULES, f"{CONFIGURE}; {elsewhere}")
    before = project.places("libfoo.so.0")
    compiled.build(SEEDS[0])
    project.run()

    assert (project.tree / "build/libdep.so").read_bytes() == (project.tree / "elsewhere.so").read_bytes()
    assert project.places("libfoo.so.0") != before
    assert b"keeps its place" not in project.log.kept()


def test_a_shared_object_without_a_rule_is_put_back(project: Project) -> None:
    """The rules look at its stamp only, so the program that needs it cannot be linked without it."""
    compiled = project.compiled(RULES.replace("build/c.o $(LIBS)", "build/c.o") + STAMPED)
    dep = project.tree / "build/libdep.so"
    original, made = dep.read_bytes(), dep.stat().st_mtime_ns
    places = [project.places("libfoo.so.0")]
    for seed in SEEDS:
        compiled.build(seed)
        project.run()
        places.append(project.places("libfoo.so.0"))

    assert (dep.read_bytes(), dep.stat().st_mtime_ns) == (original, made)
    assert len(set(places)) == 3
    assert project.log.kept().count(b"cannot be linked again, so it keeps its place: build/libdep.so\n") == 1
    assert project.log.kept().count(b"== compile: make\n") == 1 + 2 + 1


def test_programs_linked_without_a_missing_object_are_linked_again(project: Project) -> None:
    """The rules take an object file if the shared object is missing, so nothing fails."""
    libs = "LIBS = $(shell test -e build/libdep.so && echo -Lbuild -ldep || echo build/d.o)"
    compiled = project.compiled(RULES.replace("LIBS = -L$(dir $(DEP)) -ldep", libs) + STAMPED)
    compiled.build(SEEDS[0])

    assert project.places("bench").count("f_d") == project.places("libfoo.so.0").count("f_d") == 0


def test_all_stay_if_the_build_fails_although_it_made_them_again(project: Project) -> None:
    rules = RULES + DEP.replace("$^\n", "$^\n\tln -s libdep.so build/link\n")
    compiled = project.compiled(rules)
    shared = [project.tree / "build" / name for name in ("libfoo.so.0.1", "libdep.so")]
    before, program = [each.read_bytes() for each in shared], project.places("bench")
    compiled.build(SEEDS[0])
    project.run()

    assert [each.read_bytes() for each in shared] == before
    assert project.places("bench") != program
    assert b"cannot be linked again, so it keeps its place: build/libdep.so\n" in project.log.kept()
    assert b"does not make it" not in project.log.kept()


def test_a_build_that_fails_however_it_is_linked_again_is_reported(project: Project) -> None:
    compiled = project.compiled(compile_='test -z "$BENCHGATE_RELINK_SEED" && make')

    with pytest.raises(CommandFailed, match=r"^compile failed: exit code 1$"):
        compiled.build(SEEDS[0])
    assert project.log.kept().count(b"== compile: ") == 1 + 2


def test_copies_of_a_shared_object_follow_it(project: Project) -> None:
    rules = RULES.replace("DEP = build/libdep.so", "DEP = build/copy/libdep.so")
    copied = "build/copy/libdep.so: build/libdep.so\n\tmkdir -p build/copy\n\tcp $< $@\n"
    compiled = project.compiled(rules + copied + DEP)
    before = project.places("copy/libdep.so")
    compiled.build(SEEDS[0])

    assert project.places("copy/libdep.so") == project.places("libdep.so")
    assert project.places("copy/libdep.so") != before


def test_libtool_makes_what_its_files_describe(project: Project) -> None:
    """Make sees a description of the shared object and a script; the real files are in a hidden directory."""
    described = """\
build/libdep.la: build/d.o build/e.o
\tmkdir -p build/.libs
\t$(LINK) -shared -o build/.libs/libdep.so.0.0.0 $^
\tln -sf libdep.so.0.0.0 build/.libs/libdep.so
\techo "library_names='libdep.so.0.0.0 libdep.so'" > $@
"""
    rules = RULES.replace("DEP = build/libdep.so", "DEP = build/libdep.la")
    rules = rules.replace("LIBS = -L$(dir $(DEP))", "LIBS = -Wl,-rpath,'$$ORIGIN/.libs' -Lbuild/.libs")
    scripted = "-o build/.libs/bench build/main.o -Lbuild -l:libfoo.so.0 $(LIBS)\n\techo exec > $@\n"
    rules = rules.replace("-o $@ build/main.o -Lbuild -l:libfoo.so.0 $(LIBS)\n", scripted)
    compiled = project.compiled(rules + described, program="build/.libs/bench")
    names = (".libs/libdep.so", ".libs/bench")
    before = [project.places(name) for name in names]
    compiled.build(SEEDS[0])

    assert all(project.places(name) != place for name, place in zip(names, before, strict=True))
    assert (project.tree / "build/libdep.la").exists()
