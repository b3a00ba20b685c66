"""Shuffle links: compilers find the linker, its seed decides the order, and it never breaks a link."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.relink import install
from service.domain.building.spec import Revision
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.build_commands import BuildCommands
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.tests import CTestConfiguration
from service.domain.values.errors import CommandFailed
from service.domain.verdict.comparison.link_layout import BATCHES, VARIANTS
from service.steps.building.build_log import BuildLog
from service.steps.building.build_sides import built_tree, relinked_tree
from service.wiring.build_host import make_build_host
from tests.integration.adapters.building.sandbox.sandboxed import without_neighbours
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.build_host import MemoryClaimed, session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.integration

NAMES = tuple("abcd")
ARCHIVED = ("y", "z")
MAIN = """\
{declarations}
int main(void) {{ return {sum} == {count} ? 0 : 1; }}
"""
MAKEFILE = """\
OBJECTS = {objects}
build/bench: $(OBJECTS:%=build/%.o) build/liblast.a
\t$(CC) $(FLAGS) -o $@ $^
build/liblast.a: build/y.o build/z.o
\tar rcs $@ $^
build/%.o: %.c
\techo compiled >> build/compiled
\t$(CC) -ffunction-sections $(FLAGS) -c -o $@ $<
"""
COMPILERS = [
    ("gcc", ""),
    ("cc", "-fuse-ld=bfd"),
    ("c++ -x none", ""),
    ("gcc", "-fuse-ld=gold"),
    ("gcc", "-Wl,--gc-sections"),
    ("gcc", "-flto"),
    ("gcc", "-static"),
    ("clang", ""),
    ("clang", "-fuse-ld=gold"),
    ("clang", "-Wl,--gc-sections"),
]
COMPILED_ANEW = {"-flto"}
SEEDS = ("1234567", "98765432")

Places = tuple[tuple[tuple[str, int], ...], ...]  # of each file, its functions with their addresses


def sources() -> dict[str, str]:
    """A C project of many objects and an archive, built by make."""
    names = (*NAMES, *ARCHIVED)
    functions = {f"{name}.c": f"int f_{name}(void) {{ return 1; }}\n" for name in names}
    main = MAIN.format(
        declarations="".join(f"int f_{name}(void);" for name in names),
        sum=" + ".join(f"f_{name}()" for name in names),
        count=len(names),
    )
    makefile = MAKEFILE.format(objects=" ".join((*NAMES, "main")))
    return {**functions, "main.c": main, "Makefile": makefile}


def with_shared_object() -> dict[str, str]:
    """The same project, with a shared object instead of the archive."""
    makefile = sources()["Makefile"].replace("liblast.a", "liblast.so").replace("$(FLAGS) -c", "-fPIC -c")
    makefile = makefile.replace("$@ $^\nbuild/lib", "$@ $^ -Wl,-rpath,'$$ORIGIN'\nbuild/lib")
    link = "$(CC) -shared -Wl,-soname,liblast.so -o"
    return {**sources(), "Makefile": makefile.replace("ar rcs", link)}


def addresses(program: Path) -> dict[str, int]:
    """List a program's functions in the order of their addresses."""
    listed = subprocess.run(["nm", "-n", program], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^([0-9a-f]+) [Tt] (f_[a-z])$", listed, re.MULTILINE)
    return {name: int(address, 16) for address, name in found}


class Bench:
    """A directory with C files, their objects and the linker."""

    def __init__(self, directory: Path, compiled: Path) -> None:
        self.linkers = install(directory / "linkers")
        self.sources = Path(shutil.copytree(compiled, directory / "sources"))

    def run(self, *argv: str, seed: str = "") -> str:
        """Run a command there, and return its output."""
        env = {"PATH": "/usr/bin:/bin", "COMPILER_PATH": str(self.linkers), "BENCHGATE_RELINK_SEED": seed}
        done = subprocess.run(argv, cwd=self.sources, env=env, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    def link(self, compiler: str, flags: str = "", seed: str = "") -> bytes:
        """Link the program by a compiler, and check that it runs."""
        program = self.sources / "build/bench"
        program.unlink(missing_ok=True)
        if flags in COMPILED_ANEW:
            shutil.rmtree(program.parent)
            program.parent.mkdir()
        self.run("make", f"CC={compiler}", f"FLAGS={flags}", "build/bench", seed=seed)
        subprocess.run([program], check=True)
        return program.read_bytes()

    @property
    def order(self) -> list[str]:
        return list(addresses(self.sources / "build/bench"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects that every compiler can link."""
    directory = tmp_path_factory.mktemp("compiled")
    (directory / "build").mkdir()
    for name, text in sources().items():
        (directory / name).write_text(text)
    subprocess.run(["make", "CC=gcc", "FLAGS=-fPIC"], cwd=directory, check=True, capture_output=True)
    return directory


@pytest.fixture
def bench(tmp_path: Path, compiled: Path) -> Bench:
    return Bench(tmp_path, compiled)


def require(compiler: str) -> None:
    if shutil.which(compiler.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{compiler} is not installed")


@pytest.mark.parametrize(("compiler", "flags"), COMPILERS)
def test_each_seed_gives_a_different_program_that_runs(bench: Bench, compiler: str, flags: str) -> None:
    require(compiler)
    first, second = (bench.link(compiler, flags, seed) for seed in SEEDS)

    assert len({bench.link(compiler, flags), first, second}) == 3
    assert bench.link(compiler, flags, SEEDS[0]) == first


@pytest.mark.parametrize(("compiler", "flags"), [case for case in COMPILERS if case[1] != "-flto"])
def test_functions_and_archives_change_places(bench: Bench, compiler: str, flags: str) -> None:
    require(compiler)
    bench.link(compiler, flags)
    before = addresses(bench.sources / "build/bench")
    bench.link(compiler, flags, SEEDS[0])
    after = addresses(bench.sources / "build/bench")

    assert list(before) == [f"f_{name}" for name in (*NAMES, *ARCHIVED)]
    assert list(after) != list(before)
    assert list(after)[-2:] == ["f_y", "f_z"]
    assert (after["f_y"] - before["f_y"]) % 16 == 0
    assert after["f_y"] != before["f_y"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_without_a_seed_nothing_is_changed(bench: Bench, compiler: str) -> None:
    require(compiler)
    through = bench.link(compiler)
    shutil.rmtree(bench.linkers)

    assert bench.link(compiler) == through


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_objects_in_a_response_file_are_shuffled(bench: Bench, compiler: str) -> None:
    require(compiler)
    bench.link(compiler)
    objects = " ".join(f'"build/{name}.o"' for name in (*NAMES, "main"))
    (bench.sources / "list").write_text(f"-o build/bench\n{objects} build/liblast\\.a\n")
    bench.run(compiler, "@list", seed=SEEDS[0])

    assert bench.order != [f"f_{name}" for name in (*NAMES, *ARCHIVED)]
    assert bench.order[-2:] == ["f_y", "f_z"]


def test_names_with_spaces_and_quotes_survive(bench: Bench) -> None:
    bench.link("gcc")
    odd = 'build/it\'s "a" \\ name.o'
    (bench.sources / "build/a.o").rename(bench.sources / odd)
    others = [f"build/{name}.o" for name in (*NAMES[1:], "main")]
    bench.run("gcc", "-o", "build/bench", odd, *others, "build/liblast.a", seed=SEEDS[0])

    subprocess.run([bench.sources / "build/bench"], check=True)
    assert bench.order != [f"f_{name}" for name in (*NAMES, *ARCHIVED)]


def test_a_shared_object_can_be_shuffled(bench: Bench) -> None:
    objects = [f"build/{name}.o" for name in NAMES]
    libraries = []
    for seed in SEEDS:
        bench.run("gcc", "-shared", "-o", "build/liball.so", *objects, seed=seed)
        libraries.append((bench.sources / "build/liball.so").read_bytes())

    assert libraries[0] != libraries[1]


@pytest.mark.parametrize("output", ["-o {}", "-o{}", "-Wl,--output={}", "@options"])
def test_paths_of_unshuffled_shared_objects_are_recorded(bench: Bench, output: str) -> None:
    (bench.sources / "options").write_text("-o 'build/lib a.so'\n")
    named = [word.format("build/lib a.so") for word in output.split()]
    for seed in ("", SEEDS[0]):
        name = ("-o", "build/shuffled.so") if seed else named
        recording = ("env", f"BENCHGATE_LINKED={bench.linkers}", "gcc")
        bench.run(*recording, "-shared", "build/a.o", *name, seed=seed)
        bench.run(*recording, "-r", "-nostdlib", "-o", "build/partial.o", "build/a.o", seed=seed)
        bench.run(*recording, "-o", "build/bench", "build/a.o", "-nostartfiles", seed=seed)

    assert (bench.linkers / "outputs").read_text() == f"{bench.sources}/build/lib a.so\n"


def test_partial_links_are_not_changed(bench: Bench) -> None:
    bench.link("gcc")
    objects = [f"build/{name}.o" for name in NAMES]
    made = []
    for seed in ("", SEEDS[0]):
        bench.run("gcc", "-r", "-nostdlib", "-o", "build/all.o", *objects, seed=seed)
        made.append((bench.sources / "build/all.o").read_bytes())

    assert made[0] == made[1]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_failing_link_has_the_same_error_as_without_shuffling(bench: Bench, compiler: str) -> None:
    require(compiler)
    bench.link(compiler)
    errors = []
    for seed in ("", SEEDS[0]):
        with pytest.raises(subprocess.CalledProcessError) as failed:
            bench.run(compiler, "-o", "build/bench", "build/main.o", seed=seed)
        errors.append(re.sub(r"main\.c|/tmp/\S+", "", failed.value.stderr))

    assert errors[0] == errors[1]
    assert "undefined reference to `f_a'" in errors[0]


def test_a_link_that_cannot_have_padding_is_not_changed(bench: Bench) -> None:
    """The system's assembler cannot create objects for another architecture."""
    bench.link("gcc")
    fake = bench.linkers / "as"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    plain = bench.link("gcc")
    env_path = f"{bench.linkers}:/usr/bin:/bin"
    (bench.sources / "build/bench").unlink()
    bench.run("env", f"PATH={env_path}", "make", "build/bench", seed=SEEDS[0])

    assert (bench.sources / "build/bench").read_bytes() == plain


class Builder:
    """A machine that builds a repository's commit in all variants."""

    def __init__(self, directory: Path, *, is_sandboxed: bool = True) -> None:
        self.repository = Repository(directory / "repository")
        remote = str(self.repository.path)
        host = make_build_host(directory / "home", lambda _: remote, (), is_sandboxed=is_sandboxed)
        self.host = without_neighbours(host)
        self.claimed = MemoryClaimed()
        self.log = BuildLog()
        self.built_again: set[int] = set()  # the variants that the build commands made

    def commit(self, **changed: str) -> Revision:
        files = {**with_shared_object(), **{name.replace("_", "."): text for name, text in changed.items()}}
        commit = self.repository.commit({name: text.encode() for name, text in files.items()})
        self.host.source.fetch("kv", "refs/heads/master")
        return Revision(commit, self.host.source.tree("kv", commit), "refs/heads/master", "local")

    def places(self, revision: Revision, build: BuildCommands, variants: Sequence[int]) -> list[Places]:
        """List the addresses of functions in each variant of the program and its shared object."""
        configuration = BenchmarkConfiguration(build=build, suites=(Suite("a", "build/bench"),))
        return self.places_of(revision, Job("perf", JobKind("benchmark"), configuration), variants)

    def places_of(self, revision: Revision, job: Job, variants: Sequence[int]) -> list[Places]:
        """List the addresses of functions in each variant of a job's program and its shared object."""
        session = replace(session_of(self.host, job, self.claimed), log=self.log)
        found = []
        self.built_again = set()
        for variant in variants:
            with ExitStack() as stack:
                if variant:
                    tree, is_built = stack.enter_context(relinked_tree(session, revision, variant))
                    self.built_again |= {variant} if is_built else set()
                else:
                    tree = stack.enter_context(built_tree(session, revision))
                subprocess.run([tree / "build/bench"], check=True)
                files = (tree / "build/bench", tree / "build/liblast.so")
                found.append(tuple(tuple(addresses(file).items()) for file in files))
        return found


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("is_sandboxed", [True, False])
def test_a_relink_compiles_nothing(tmp_path: Path, compiler: str, *, is_sandboxed: bool) -> None:
    require(compiler)
    builder = Builder(tmp_path, is_sandboxed=is_sandboxed)
    build = BuildCommands(compile=f"make CC={compiler} && wc -l < build/compiled")
    places = builder.places(builder.commit(), build, (0, *VARIANTS))
    counts = re.findall(rb"^\d+$", builder.log.kept(), re.MULTILINE)

    assert [len(set(each)) for each in zip(*places, strict=True)] == [1 + len(VARIANTS)] * 2
    assert set(counts) == {b"%d" % (len(NAMES) + len(ARCHIVED) + 1)}
    assert len(counts) == 1 + len(BATCHES)
    assert builder.built_again == set()


def test_programs_that_the_job_does_not_name_are_linked_again(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    compile_ = "make CC=gcc && wc -l < build/compiled; printf 'x' > build/script; chmod +x build/script"
    configuration = CTestConfiguration(compare=True, build=BuildCommands(compile=compile_, keep=("**",)))
    job = Job("tests", JobKind("ctest"), configuration)
    places = builder.places_of(builder.commit(), job, (0, *VARIANTS))
    counts = re.findall(rb"^\d+$", builder.log.kept(), re.MULTILINE)

    assert [len(set(each)) for each in zip(*places, strict=True)] == [1 + len(VARIANTS)] * 2
    assert set(counts) == {b"%d" % (len(NAMES) + len(ARCHIVED) + 1)}


def test_a_link_without_variants_is_reported(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    build = BuildCommands(compile="env -u COMPILER_PATH make CC=gcc")

    with pytest.raises(CommandFailed, match="the order of objects makes no difference to the programs"):
        builder.places(builder.commit(), build, VARIANTS)
    assert builder.claimed.binaries == {}
