"""Set up a Meson project, build it, and ask its programs for their benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.project.benchmark import Format
from service.domain.project.starter.file import NO_DOWNLOAD, BuildSystem, Program, ProjectFacts
from service.domain.project.starter.meson_reply import (
    has_default_wraps,
    meson_benchmarks,
    meson_options,
    meson_programs,
)
from service.domain.values.errors import CommandFailed, NotFound
from service.domain.values.text import counted, plain
from service.steps.project.init_data import named_data
from service.steps.project.init_wraps import find_wraps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.domain.project.starter.cmake_reply import Executable
    from service.steps.project.init_inquiry import Inquiry

_OTHERS: Final = "nanobench and Catch2, with `format` in a file that you write"
_MOST_ALONE: Final = 6  # options
_LONGEST: Final = 300  # characters of the project's own benchmarks
_INTROSPECT: Final = 'exec meson introspect "$@" 2>/dev/null'  # warnings are no part of the answer


def ask_meson(inquiry: Inquiry) -> ProjectFacts:
    """Find the benchmark programs of a Meson project.

    Raises:
        CommandFailed: the project cannot be set up here.
        NotFound: there is no benchmark program, or none of them lists a benchmark.
    """
    plain_build = inquiry.scratch / "plain"
    first = _set_up(inquiry, plain_build)
    known = _introspect(inquiry, "--buildoptions", plain_build)
    tried = list[str]()
    switched_on = _switch_on(inquiry, meson_options(known), first, tried)
    options, build, targets = switched_on or ((), plain_build, first)
    if not targets:
        own = meson_benchmarks(_introspect(inquiry, "--benchmarks", build), str(build))
        raise NotFound(_without(own, tried))
    wraps = find_wraps(inquiry, _introspect(inquiry, "--projectinfo", build))
    dependencies = inquiry.rewritten(wraps)
    if dependencies and has_default_wraps(known):
        options = (NO_DOWNLOAD, *options)
    inquiry.progress.say(f"compile {counted(len(targets), 'benchmark program')}")
    try:
        inquiry.run(
            *("meson", "compile", "-C", str(build), "--ninja-args=-k0"), *(target.path for target in targets)
        )
    except CommandFailed as failed:
        inquiry.progress.note(f"{failed}\n{failed.tail}")
    programs = inquiry.ask(
        build, [Program(f"build/{each.path}", each.path, format=each.format) for each in targets]
    )
    if not programs:
        raise NotFound("no benchmark program can be built here and lists benchmarks")
    return ProjectFacts(
        BuildSystem.MESON,
        programs,
        options,
        dependencies=dependencies,
        is_tried=True,
        data=named_data(build, programs, ()),
    )


def _switch_on(
    inquiry: Inquiry, wanted: tuple[str, ...], first: Sequence[Executable], tried: list[str]
) -> tuple[tuple[str, ...], Path, tuple[Executable, ...]] | None:
    """Set up with each option for benchmarks alone, then with all, until that brings programs.

    ``first`` are the programs without options; ``tried`` gets the options of each attempt.
    """
    together = [wanted] if len(wanted) > 1 else []
    for number, chosen in enumerate((*((each,) for each in wanted[:_MOST_ALONE]), *together)):
        build, shown = inquiry.scratch / f"options-{number}", " ".join(chosen)
        tried.append(shown)
        try:
            found = _set_up(inquiry, build, *chosen)
        except CommandFailed as failed:
            inquiry.progress.note(f"not used: {shown}: {failed}\n{failed.tail}")
            continue
        inquiry.progress.note(f"tried {shown}: {counted(len(found), 'benchmark program')}")
        if _rank(found) > _rank(first):
            return chosen, build, found
    return None


def _rank(found: Sequence[Executable]) -> tuple[bool, int]:
    """Prefer Google Benchmark: it alone can launch one benchmark without the others."""
    return any(each.format is Format.GOOGLE for each in found), len(found)


def _without(commands: Sequence[str], tried: Sequence[str]) -> str:
    """Describe a project whose benchmarks use another library, or none."""
    also = f", also with {', '.join(tried)}" if tried else ""
    named = plain(", ".join(commands), _LONGEST)
    others = f"; its own benchmarks are {named}: Benchgate also measures {_OTHERS}" if commands else ""
    return f"no program of this Meson project links Google Benchmark{also}{others}"


def _set_up(inquiry: Inquiry, build: Path, *options: str) -> tuple[Executable, ...]:
    inquiry.progress.say(" ".join(("set up with --buildtype=release", *options)))
    inquiry.run("meson", "setup", str(build), str(inquiry.directory), "--buildtype=release", *options)
    libraries = {str(inquiry.directory / path): library for path, library in inquiry.libraries.items()}
    return meson_programs(_introspect(inquiry, "--targets", build), str(build), libraries)


def _introspect(inquiry: Inquiry, what: str, build: Path) -> str:
    return inquiry.run("sh", "-c", _INTROSPECT, "sh", what, str(build))
