"""Run clang-tidy or the static analyzer on the translation units of touched lines."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits, Mount
from service.domain.measuring.lint.clang_tidy import (
    SETTINGS,
    error_failure,
    finding_failure,
    is_missing_include,
    read_clang_tidy,
)
from service.domain.measuring.lint.compile_commands import FILE, MAX_BYTES, read_compile_commands
from service.domain.measuring.lint.diagnostics import Roots
from service.domain.measuring.lint.suppressions import new_suppressions, suppressions_on
from service.domain.measuring.lint.touched_lines import touched
from service.domain.measuring.lint.units import includes_in, units_for
from service.domain.runs.machine_report import CHECKED, PATCH_BUILT, MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, BadResults
from service.domain.wording.build_causes import (
    bad_compile_commands,
    not_checked,
    some_units_checked,
    suppressions_added,
    too_much_changed,
    without_units,
)
from service.kinds.linting import HEADERS, UNITS, conditions_of, report_of, touched_by
from service.steps.building.build_sources import NotBuilt, built_sources, run_in_sources
from service.steps.building.report_not_built import report_not_built

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from service.domain.building.findings import Finding
    from service.domain.building.sandbox_command import Completed
    from service.domain.building.spec import Revision
    from service.domain.measuring.lint.clang_tidy import TidyFinding
    from service.domain.measuring.lint.compile_commands import Unit
    from service.domain.measuring.lint.units import Selection
    from service.domain.project.linters import TidyConfiguration
    from service.kinds.linting import Touched
    from service.steps.building.session import BuildSession

TOOL: Final = "clang-tidy"
_LISTING: Final = Limits(wall_seconds=300.0)
_INCLUDES_BYTES: Final = 64 << 20  # the include lines of a million files
_OUTPUT_BYTES: Final = 16 << 20  # of one unit
_MOST_READ: Final = 100  # files whose suppressions are counted
_FILTER: Final = 60_000  # characters; Linux allows an argument twice that
_BROKEN_PIPE: Final = 141
_LIST: Final = f"""\
out=${{BENCHGATE_OUT:-/out}} directory=$1; shift
[ ! -f "./$directory/{FILE}" ] || head -c {MAX_BYTES + 1} "./$directory/{FILE}" > "$out/{FILE}"
grep -raHoZE '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*["<][^">]+[">]' --exclude-dir=.git "$@" . |
    head -c {_INCLUDES_BYTES} > "$out/includes"
"""
_CHECK: Final = f"""\
export out="${{BENCHGATE_OUT:-/out}}" directory="$1" headers="$2" checks="$3"; shift 3
number=0
for file; do printf '%s\\0%s\\0' $number "$file"; number=$((number + 1)); done |
    xargs -0 -n 2 -P "${{CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}}" sh -c '
        {{
            {TOOL} --quiet --header-filter="$headers" ${{checks:+"--checks=$checks"}} -p "./$directory" "$2"
            echo $? > "$out/$1.code"
        }} 2>&1 | head -c {_OUTPUT_BYTES} > "$out/$1"
    ' sh
"""


@dataclass
class _Result:
    """``faults`` are the reasons why units were not checked, or not completely."""

    findings: dict[TidyFinding, None] = field(default_factory=dict)
    errors: dict[Finding, None] = field(default_factory=dict)
    faults: dict[str, None] = field(default_factory=dict)


def run(session: BuildSession[TidyConfiguration]) -> MachineReport:
    """Build the sources of the patch set, and check them; the findings on touched lines decide."""
    conditions = conditions_of(session, TOOL)
    seconds: dict[str, float] = {}
    begun = time.monotonic()
    try:
        lines = touched_by(session, SETTINGS)
    except BadInput as error:
        seconds[CHECKED] = round(time.monotonic() - begun, 3)  # and not a build that failed
        report = MachineReport(Outcome.FAILED, (too_much_changed(error),))
    else:
        report = _built(session, lines, seconds) if lines.sources else MachineReport(Outcome.PASSED)
        report = replace(report, causes=(*report.causes, *_suppressions(session, lines)))
    return replace(report, seconds=seconds, conditions=conditions)


def _suppressions(session: BuildSession, lines: Touched) -> Iterator[str]:
    """Yield a note if the patch set hides code from the tool."""
    spec, count = session.spec, 0
    for path, ranges in islice(lines.sources.items(), _MOST_READ):
        own = spec.workspace.path_in_project(path) if spec.workspace else path
        after = _text(session, spec.patch, own)
        if suppressions_on(after, ranges):  # a read is a process of Git
            count += new_suppressions(_text(session, spec.base, own), after, ranges)
    if count:
        yield suppressions_added(count)


def _text(session: BuildSession, side: Revision | None, path: str) -> str:
    """Read a file; one that is missing, large or not UTF-8 reads as empty."""
    try:
        return (side and session.host.source.read(session.spec.project, side.commit, path)) or ""
    except BadInput:
        return ""


def _built(
    session: BuildSession[TidyConfiguration], lines: Touched, seconds: dict[str, float]
) -> MachineReport:
    claimed, begun, mark = session.claimed, time.monotonic(), session.log.mark()
    claimed.enter("build patch")
    session.progress.say(f"{claimed.name}: build patch")
    try:
        with built_sources(session, session.spec.patch) as tree:
            seconds[PATCH_BUILT] = round(time.monotonic() - begun, 3)
            begun = time.monotonic()
            claimed.enter(CHECKED)
            report = _checked(session, tree, lines)
            seconds[CHECKED] = round(time.monotonic() - begun, 3)
            return report
    except NotBuilt as failed:
        return report_not_built(session, failed, session.log.since(mark), seconds)


def _checked(session: BuildSession[TidyConfiguration], tree: Path, lines: Touched) -> MachineReport:
    own = session.own
    try:
        selection = _selected(session, tree, lines)
    except BadResults as error:
        return MachineReport(Outcome.MISCONFIGURED, (bad_compile_commands(own.directory, error),))
    notes = [
        *([without_units(selection.without)] if selection.without else []),
        *([some_units_checked(selection)] if selection.including < selection.candidates else []),
    ]
    if not selection.units:
        return MachineReport(Outcome.PASSED, tuple(notes))
    result = _check(session, tree, selection, lines)
    found = [each for each in result.findings if touched([each.finding], lines.sources)]
    errors = [error for error in result.errors if _is_of_patch(error, lines)]
    others = [f"{each.path}:{each.line}: {each.text}" for each in result.errors if each not in errors]
    notes = [*(not_checked(TOOL, fault) for fault in [*others, *result.faults][:1]), *notes]
    is_complete = not others and not result.faults
    if found or errors:
        failures = [*map(error_failure, errors), *map(finding_failure, found)]
        shown = [*errors, *(each.finding for each in found)]
        return report_of(shown, failures, notes=notes, is_partial=not is_complete)
    return MachineReport(Outcome.PASSED if is_complete else Outcome.MISCONFIGURED, tuple(notes))


def _selected(session: BuildSession[TidyConfiguration], tree: Path, lines: Touched) -> Selection:
    """Select the units to check; raises BadResults if the build wrote no usable ``compile_commands.json``."""
    own, sources = session.own, str(tree.resolve())
    endings = [f"--include=*{ending}" for ending in (*UNITS, *HEADERS)]
    with session.host.scratch.directory() as out:
        command = Command(("sh", "-c", _LIST, "sh", own.directory, *endings), limits=_LISTING)
        done = _run(session, tree, out, command)
        if not done.is_success:
            raise BadResults(done.end)
        packer = session.host.packer
        units = read_compile_commands(packer.read_output(out / FILE, MAX_BYTES), sources)
        includes = includes_in(packer.read_output(out / "includes", _INCLUDES_BYTES), sources)
    return units_for(list(lines.sources), units, includes)


def _check(
    session: BuildSession[TidyConfiguration], tree: Path, selection: Selection, lines: Touched
) -> _Result:
    """Run the tool on the units, several at a time; the build's log gets its output in their order."""
    session.progress.say(f"{session.claimed.name}: check {len(selection.units)} units")
    own = session.own
    arguments = (own.directory, _filter(lines.sources), own.checks, *(unit.file for unit in selection.units))
    limits = Limits(wall_seconds=own.timeout, memory_bytes=own.memory)
    command = Command(("sh", "-c", _CHECK, "sh", *arguments), limits=limits)
    result = _Result()
    with session.host.scratch.directory() as out:
        done = _run(session, tree, out, command)
        if not done.is_success:
            result.faults[done.end] = None
        for number, unit in enumerate(selection.units):
            _read(session, tree, out / str(number), unit, result)
    return result


def _read(
    session: BuildSession[TidyConfiguration], tree: Path, file: Path, unit: Unit, result: _Result
) -> None:
    name, packer = unit.path or unit.file, session.host.packer
    try:
        code = packer.read_output(file.with_name(f"{file.name}.code"), 9).strip()
        printed = packer.read_output(file, _OUTPUT_BYTES)
    except BadResults:
        result.faults[f"{name} was not checked"] = None
        return
    session.log.write(f"== {TOOL} {name}\n".encode(errors="replace"))
    session.log.write(printed)
    output = read_clang_tidy(printed, Roots(str(tree.resolve()), unit.directory))
    result.findings.update(dict.fromkeys(output.findings))
    result.errors.update(dict.fromkeys(output.errors))
    result.faults.update(dict.fromkeys(output.faults))
    if code == b"%d" % _BROKEN_PIPE:
        result.faults[f"{name}: it printed more than {_OUTPUT_BYTES >> 20} MiB"] = None
    elif code not in {b"0", b"1"}:
        result.faults[f"{name}: exit code {code.decode(errors='replace')}"] = None


def _run(session: BuildSession[TidyConfiguration], tree: Path, out: Path, command: Command) -> Completed:
    return run_in_sources(session, tree, replace(command, mounts=(Mount(out, "/out", writable=True),)))


def _is_of_patch(error: Finding, lines: Touched) -> bool:
    """Return whether the patch set answers for an error of the compiler.

    A missing header that an untouched line includes is not its fault: the build does not generate it.
    """
    is_own = error.path in lines.changed
    return is_own and (not is_missing_include(error) or bool(touched([error], lines.sources)))


def _filter(paths: Iterable[str]) -> str:
    """Make the filter for changed headers, by their names: the tool sees paths such as ``a/../b/x.h``."""
    names = dict.fromkeys(path.rpartition("/")[2] for path in paths)
    escaped = ("".join(f"\\{c}" if c in r"\.^$*+?()[]{}|" else c for c in name) for name in names)
    wanted = f"(^|/)({'|'.join(escaped)})$"
    return wanted if len(wanted.encode()) <= _FILTER else ".*"
