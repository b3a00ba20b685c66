"""Explain builds that end without a judgement, and write the machine's warnings beside one."""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.program import ForeignProgram
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.values.text import counted, duration, listed, plain, share, shortened
from service.domain.verdict.comparison.link_layout import BELOW
from service.domain.wording.reasons import SAME_PROGRAM, side_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.building.missing_downloads import MissingDownload
    from service.domain.measuring.lint.units import Selection

NO_MATCHING_FILES: Final = "no matching files changed"
NO_PARENT: Final = "nothing to compare with: the commit has no parent"
OTHER_MERGE: Final = (
    "git on this machine does not merge as git on the service does: install the same version on both"
)
PARENT_TRIED: Final = "the patch does not build: its parent is built to see whether the patch is the reason"
NO_MEASUREMENTS: Final = "the machine reported no measurements"
OVERDUE: Final = "the machine did not finish the build before its deadline"
UNFIT: Final = "the machine cannot run builds"
NO_MACHINE: Final = "no machine finished the build before its deadline"
NO_RESULT: Final = "the other CI reported no result before the deadline"
WITHDRAWN: Final = "the other CI withdrew the build before it started"
CANCELLED: Final = "cancelled"
USED_UP_BY_PATCH: Final = (
    "launches of the patch took so much longer than those of the parent that measuring ended early, "
    "so there is no +1"
)
SEVERAL_MACHINES: Final = "another machine measured some of the pairs"
OUT_OF_MACHINE_TIME: Final = "the machine time is used up"
SEVERAL_THREADS: Final = "the benchmark runs several threads"
OTHER_THREADS: Final = "its thread waits longer for other threads, and their work is not sampled"
OUT_OF_COUNTING_TIME: Final = "the time for counting is used up"
NO_STYLE: Final = (
    "the changed files have no .clang-format above them: add one at the top of the sources "
    "(`clang-format --style=Google --dump-config > .clang-format`)"
)
_SHORT: Final = 8  # digits of a commit ID
_REMEDIES: Final = MappingProxyType(
    {
        "unknown argument": "configure the job for Clang (CC=clang CXX=clang++)",
        "file not found": "if the build generates the file, let `compile` do so",
        "limit on wall time": "raise `timeout` of the job",
        "limit on memory": "raise `memory` of the job",
    }
)
_MAX_CAUSE: Final = 500
_PROGRAM_HINTS: Final[Mapping[ForeignProgram, str]] = MappingProxyType(
    {
        ForeignProgram.CATCH2: "its program uses Catch2: set `format: catch2` in benchgate.yaml",
        ForeignProgram.NANOBENCH: (
            "its program uses nanobench: let it write nanobench's JSON to standard output, and set "
            "`format: nanobench` in benchgate.yaml"
        ),
        ForeignProgram.DOCTEST: (
            "its program runs tests of doctest: name a program of Google Benchmark, nanobench or Catch2 in "
            "benchgate.yaml"
        ),
        ForeignProgram.GOOGLE_TEST: (
            "its program runs tests of GoogleTest: name a program of Google Benchmark in benchgate.yaml, or "
            "compare the tests by a job of `kind: gtest` with `compare: true`"
        ),
        ForeignProgram.REFUSES_FLAGS: (
            "its program refuses --benchmark_list_tests, so it does not use Google Benchmark: name another "
            "in benchgate.yaml"
        ),
        ForeignProgram.WANTS_ARGUMENTS: "its program asks for arguments: set `args` in benchgate.yaml",
        ForeignProgram.MISSES_FILE: (
            "its program does not find a file: set `cwd` or `args` in benchgate.yaml, and `keep` for a file "
            "that the build makes"
        ),
        ForeignProgram.NO_TABLE: (
            "let its program print nanobench's table, or render ankerl::nanobench::templates::json(), to "
            "std::cout, or name /dev/stdout as its file by `args` in benchgate.yaml"
        ),
        ForeignProgram.NO_BENCHMARK: (
            "its program chooses benchmarks by a test spec: set that as `filter` in benchgate.yaml; without "
            "`filter`, tests with the tag [!benchmark] run"
        ),
    }
)
_NO_HINT: Final = (
    "check its program, args, cwd, format and data in benchgate.yaml; it must use Google Benchmark, "
    "nanobench or Catch2"
)


def not_analysed(failure: str) -> str:
    """Explain that the analysis failed after the last attempt."""
    return f"the results could not be analysed: {shortened(failure, _MAX_CAUSE)}"


def unresponsive(attempts: int) -> str:
    """Explain that the build's machines were lost."""
    return f"the machine stopped responding {attempts} times"


def attempts_failed(attempts: int, error: Exception) -> str:
    """Explain that the last attempt met a transient fault too."""
    return shortened(f"{attempts} attempts failed, the last one with: {error}", _MAX_CAUSE)


def unfit(error: Exception) -> str:
    """Explain that the machine cannot run builds."""
    return shortened(f"{UNFIT}: {error}", _MAX_CAUSE)


def unusable_dependency(error: Exception) -> str:
    """Explain that a dependency is forbidden, missing or not the expected one."""
    return shortened(str(error), _MAX_CAUSE)


def second_opinion_ended(why: str) -> str:
    """Explain why the second opinion has fewer pairs than allowed."""
    return f"the second opinion ended early: {shortened(why, _MAX_CAUSE)}"


def control_ended(why: str) -> str:
    """Explain why the parent was not measured against itself as often as the slow-down was."""
    return f"the control (the parent against itself) is incomplete: {shortened(why, _MAX_CAUSE)}"


def control_too_long(seconds: float, left: float, chosen: int, of: int) -> str:
    """Say that the control of all slow-downs would take more time than it may, and how many have one."""
    why = f"it needs about {duration(seconds)}, and may take {duration(left)}"
    return f"{why}; the worst {chosen} of {of} slow-downs have one" if chosen else why


def crashed(error: Exception) -> str:
    """Explain that Benchgate itself failed."""
    text = shortened(f"{type(error).__name__}: {error}", _MAX_CAUSE)
    return f"Benchgate failed while it worked on the build ({text}); the log of the machine has more"


def sides_failed(
    outcome: Outcome, patch: SideEnd | None, base: SideEnd | None, *, are_tests: bool = False
) -> str:
    """Explain by how both sides failed why the build was not measured."""
    if outcome is Outcome.MISCONFIGURED and patch is not None:
        return _misconfigured(patch, are_tests=are_tests)
    if outcome is Outcome.PARENT_BROKEN and base is not None:
        return _unmerged_parent_fails(base) if patch is None else _parent_fails_too(base)
    if outcome is Outcome.INFRASTRUCTURE:
        return lost_after_rehearsal(Side.PATCH, str(patch))
    if patch is not None:
        return _patch_fails(patch)
    if base is None:
        return NO_PARENT
    return build_failed(Side.BASE, base) if base.is_build else side_failed(Side.BASE, str(base))


def _patch_fails(patch: SideEnd) -> str:
    if patch.is_empty:
        return f"{plain(patch.what)} measured nothing: the patch {plain(patch.end)}"
    return build_failed(Side.PATCH, patch) if patch.is_build else side_failed(Side.PATCH, str(patch))


def not_downloaded(missing: MissingDownload) -> str:
    """Explain that a build command tried to download a file, and how to provide the file."""
    what = f"{plain(missing.source) or 'a file'} cannot be downloaded, because builds have no network"
    if missing.is_external:
        return (
            f"{what}: ExternalProject takes nothing from `dependencies`, so switch {plain(missing.name)} off "
            "by an option of the project, or let the project use FetchContent"
        )
    as_named = f"as `{plain(missing.name)}` " if missing.name else ""
    return f"{what}: add it {as_named}to `dependencies` in benchgate.yaml"


def not_installed(package: str) -> str:
    """Explain that a build needs a package, and how to provide it."""
    return (
        f"package {plain(package)} is not found: install it on the machines that build, or add it to "
        "`dependencies` in benchgate.yaml"
    )


def _misconfigured(patch: SideEnd, *, are_tests: bool) -> str:
    if patch.misses_input or patch.is_foreign:
        return shortened(str(patch), _MAX_CAUSE)
    if patch.stage is Stage.PROGRAM:
        neither = f"neither the patch nor its parent makes {plain(patch.what)}"
        if patch.elsewhere:
            return f"{neither}, but {plain(patch.elsewhere)}: name that one in benchgate.yaml"
        return f"{neither}: check benchgate.yaml, or rebase"
    if patch.stage is Stage.PACK:
        return f"on both sides, {shortened(str(patch), _MAX_CAUSE)}: check benchgate.yaml"
    if patch.is_empty:
        return f"{plain(patch.what)} {plain(patch.end)} on either side: check its filter in benchgate.yaml"
    text = shortened(patch.end, _MAX_CAUSE)
    hint = _PROGRAM_HINTS[patch.program] if patch.program else _NO_HINT
    remedy = "check its filter and args in benchgate.yaml" if are_tests else hint
    return f"{plain(patch.what)} fails on both sides ({text}): {remedy}"


def _parent_fails_too(base: SideEnd) -> str:
    text = shortened(str(base), _MAX_CAUSE)
    if base.stage is Stage.CHECKOUT:
        return f"the sources of the parent are not complete either ({text})"
    return f"the parent does not build either ({text}): rebase onto a commit that builds"


def _unmerged_parent_fails(base: SideEnd) -> str:
    text = shortened(str(base), _MAX_CAUSE)
    verb = "build" if base.is_build else "run"
    return f"the parent, which is not merged, does not {verb} ({text}): fix it first, or rebase"


def build_failed(side: Side, error: object) -> str:
    """Explain that a side does not build."""
    text = shortened(str(error), _MAX_CAUSE)
    return f"nothing to compare with: the parent does not build ({text})" if side is Side.BASE else text


def side_failed(side: Side, failure: str) -> str:
    """Explain that a side cannot be measured."""
    text = shortened(failure, _MAX_CAUSE)
    if side is Side.BASE:
        return f"nothing to compare with: the parent does not run ({text})"
    return f"measured nothing: {text}"


def listing_failed(side: Side, failure: str) -> str:
    """Warn that a suite without known benchmarks is left out, because the filter chooses others."""
    text = shortened(failure, _MAX_CAUSE)
    return f"left out, because the filter chooses benchmarks of other suites: {side_name(side)}: {text}"


def lost_after_rehearsal(side: Side, failure: str) -> str:
    """Explain that there is no vote, because a program failed that ran before the patch did."""
    text = shortened(failure, _MAX_CAUSE)
    if side is Side.BASE:
        return f"the parent ran before the patch did, and fails since ({text})"
    return f"{SAME_PROGRAM}; it ran as the parent and fails as the patch ({text})"


def conflicts(branch: str, head: str) -> str:
    """Say why a patch set that would pass gets no vote."""
    return (
        f"it conflicts with {plain(branch)} at {head[:_SHORT]}, so it was compared with its own parent: "
        "rebase it to get a vote"
    )


def merged_into(branch: str, head: str) -> str:
    """Say what was compared if the branch has changed files of the job since the parent."""
    return f"compared as it would be merged into {plain(branch)} at {head[:_SHORT]}"


def parent_failed(failure: str) -> str:
    """Warn that the parent failed after some pairs."""
    return f"measuring ended early because the parent failed ({shortened(failure, _MAX_CAUSE)})"


def patch_failed(failure: str) -> str:
    """Warn that the patch, which ran in earlier pairs, failed twice in a pair."""
    return f"the patch gave no answer in some pairs because it failed ({shortened(failure, _MAX_CAUSE)})"


def shared_cpus(suite: str, wanted: int, measured: int, everywhere: int) -> str:
    """Warn that a suite ran on more CPUs than are reserved for measuring."""
    return (
        f"suite {plain(suite)} needs {wanted} CPUs, but {measured} are kept for measuring: "
        f"it shared all {everywhere} CPUs of the machine, which adds noise"
    )


def too_few_cpus(suite: str, wanted: int, measured: int) -> str:
    """Warn that a suite ran on fewer CPUs than it asks for."""
    return f"suite {plain(suite)} needs {wanted} CPUs, but this machine measures on {measured}"


def layout_not_checked(why: str) -> str:
    """Warn that slow-downs could not be confirmed, and name the setting that lets them vote anyway."""
    return (
        f"slow-downs below {share(BELOW)} were not confirmed on relinked programs: "
        f"{shortened(why, _MAX_CAUSE)}; "
        "set `layout: off` in the policy to let them vote without this check"
    )


def linked_by_build(why: str) -> str:
    """Say that build commands run again for relinks, so that slow programs are not excused by these."""
    return (
        "the compile command makes the relinked programs, because the linker alone does not make those as "
        f"built: {shortened(why, _MAX_CAUSE)}"
    )


def relink_failed(side: Side, failure: str) -> str:
    """Explain that a relinked program does not run."""
    return f"the relinked program of the {side_name(side)} fails ({failure})"


def relinks_short(benchmarks: Sequence[str]) -> str:
    """Explain that benchmarks gave too few results on relinked programs."""
    more = f" and {len(benchmarks) - 1} more" if len(benchmarks) > 1 else ""
    return f"{benchmarks[0]}{more} gave a result in too few pairs of a relink"


def format_advice(*, has_parent: bool) -> str:
    """Name the command that formats the touched lines."""
    return f"run `{'git clang-format HEAD~1' if has_parent else 'clang-format -i FILE'}`"


def too_much_changed(error: Exception) -> str:
    """Explain that the patch set touches more lines than are checked."""
    text = shortened(str(error), _MAX_CAUSE)
    return f"the patch set changes too much to be checked ({text}): split it, or override the failure"


def not_checked(tool: str, fault: str) -> str:
    """Explain that a tool failed before it checked everything, and how to fix that."""
    remedy = next((f"; {words}" for mark, words in _REMEDIES.items() if mark in fault), "")
    return f"{tool} did not check everything: {shortened(fault, _MAX_CAUSE)}{remedy}"


def bad_compile_commands(directory: str, error: Exception) -> str:
    """Explain that there are no translation units to check."""
    file = posixpath.join(directory, "compile_commands.json")
    return (
        f"{plain(file)} cannot be used ({shortened(str(error), _MAX_CAUSE)}): let `configure` write it "
        "(CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON), and set `directory` to its directory"
    )


def without_units(paths: Sequence[str]) -> str:
    """Note that changed files belong to no translation unit."""
    return f"not checked, because compile_commands.json has no unit that includes them: {listed(paths)}"


def some_units_checked(selection: Selection) -> str:
    """Note that not all units that include changed headers were checked."""
    return (
        f"headers were checked in {selection.including} of the {selection.candidates} units that include them"
    )


def suppressions_added(count: int) -> str:
    """Note what the patch set adds to hide code from the linter."""
    return f"{counted(count, 'new suppression')} (NOLINT, system_header or line marker)"


def not_copied(source: str, target: str) -> str:
    """Log that the manifest copies a file that no repository has."""
    return f"copyfile {plain(target)}: {plain(source)} is missing, so it is not copied"


def opens_others(suite: str, paths: Sequence[str]) -> str:
    """Log why a suite with identical binaries is measured: its launches open files that differ."""
    return f"{_measured_nevertheless(suite)}: its launches open files that differ: {listed(paths)}"


def opens_unknown(suite: str, why: str) -> str:
    """Log why a suite with identical binaries is measured: the files that it opens cannot be compared."""
    return (
        f"{_measured_nevertheless(suite)}: the files that its launches open cannot be compared: {plain(why)}"
    )


def _measured_nevertheless(suite: str) -> str:
    return f"suite {plain(suite)} has identical binaries and is measured nevertheless"
