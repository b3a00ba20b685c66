"""Run a clang-format build: format the touched lines of each changed source, and compare."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.failures.failure import MOST
from service.domain.measuring.lint.clang_format import (
    TEXT,
    FormatFault,
    fault_in,
    format_failure,
    read_format_diff,
)
from service.domain.measuring.lint.diagnostics import Roots
from service.domain.runs.machine_report import CHECKED, MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.wording.build_causes import NO_STYLE, format_advice, not_checked, too_much_changed
from service.kinds.linting import conditions_of, report_of, touched_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.domain.building.findings import Finding
    from service.kinds.linting import Touched
    from service.steps.building.session import BuildSession

TOOL: Final = "clang-format"
STYLES: Final = (".clang-format", "_clang-format")
_LIMITS: Final = Limits(wall_seconds=60.0, memory_bytes=2 << 30, log_bytes=4 << 20)  # for a file
_MOST_RANGES: Final = 5000  # arguments of a command; more become one
_FAILED: Final = 9  # diff never ends so
_FORMAT_AND_COMPARE: Final = f"""\
file=$1; shift
formatted=$(mktemp) && clang-format --style=file --fallback-style=none "$@" "$file" > "$formatted"
[ $? = 0 ] || {{ rm -f "$formatted"; exit {_FAILED}; }}
diff --text --unified=0 "$file" "$formatted"
code=$?; rm -f "$formatted"; exit $code
"""


@dataclass
class _Result:
    findings: list[Finding] = field(default_factory=list)
    faults: list[FormatFault] = field(default_factory=list)


def run(session: BuildSession) -> MachineReport:
    """Check the touched lines; they alone decide."""
    begun = time.monotonic()
    conditions = conditions_of(session, TOOL)
    try:
        touched = touched_by(session, *STYLES)
    except BadInput as error:
        return MachineReport(Outcome.FAILED, (too_much_changed(error),), conditions=conditions)
    report = _checked(session, touched)
    seconds = {CHECKED: round(time.monotonic() - begun, 3)}
    return replace(report, seconds=seconds, conditions=conditions)


def _checked(session: BuildSession, touched: Touched) -> MachineReport:
    claimed, spec = session.claimed, session.spec
    claimed.enter(CHECKED)
    result = _Result()
    with session.host.source.checkout(
        spec.project, spec.patch.commit, whole=False, watch=session.watch
    ) as tree:
        if touched.sources and not any(_has_style(tree, path) for path in touched.sources):
            return MachineReport(Outcome.MISCONFIGURED, (NO_STYLE,))
        for number, (path, ranges) in enumerate(touched.sources.items()):
            session.progress.say(f"{claimed.name}: check {path}", number / len(touched.sources))
            _check(session, tree, path, ranges, result)
            if len(result.findings) > MOST:
                break
    own = [fault for fault in result.faults if fault.path in touched.changed]
    notes = [not_checked(TOOL, fault.text) for fault in own or result.faults[:1]]
    if result.findings:
        failures = [format_failure(finding) for finding in result.findings]
        advice = format_advice(has_parent=spec.base is not None)
        return report_of(result.findings, failures, advice, notes, is_partial=bool(result.faults))
    if result.faults:
        return MachineReport(Outcome.FAILED if own else Outcome.MISCONFIGURED, tuple(notes))
    return MachineReport(Outcome.PASSED)


def _check(session: BuildSession, tree: Path, path: str, ranges: Sequence[range], result: _Result) -> None:
    """Check a file; what the tool changes goes to the build's log."""
    output = BytesIO()
    command = Command(
        ("sh", "-c", _FORMAT_AND_COMPARE, "sh", f"./{path}", *_arguments(ranges)),
        mounts=(Mount(tree, "/src"),),
        cwd="/src",
        limits=_LIMITS,
    )
    done = session.host.sandbox.run(command, log=output, watch=session.watch)
    printed = output.getvalue()
    if done.exit_code == 0 and done.stopped_by is None:
        return
    session.log.write(f"== {TOOL} {path}\n".encode(errors="replace"))
    session.log.write(printed)
    found = read_format_diff(printed, path, tuple(ranges))
    if done.exit_code == 1 or done.stopped_by is StoppedBy.LOG:
        result.findings += found
        # A path below build/, or one that cannot be shown, has no findings.
        result.faults += [] if found else [FormatFault(path, f"{path}: {TEXT}")]
    elif done.exit_code == _FAILED and done.stopped_by is None:
        fault = fault_in(printed, Roots(str(tree.resolve())))
        result.faults.append(fault if fault.path else FormatFault(path, f"{path}: {fault.text}"))
    else:
        result.faults.append(FormatFault(path, f"{path}: {done.end}"))


def _arguments(ranges: Sequence[range]) -> list[str]:
    chosen = ranges if len(ranges) <= _MOST_RANGES else [range(ranges[0].start, ranges[-1].stop)]
    return [f"--lines={lines.start}:{lines.stop - 1}" for lines in chosen]


def _has_style(tree: Path, path: str) -> bool:
    """Return whether a file is below a file of settings."""
    folders = (tree / path).parents
    return any(
        (folder / name).is_file() for folder in folders if folder.is_relative_to(tree) for name in STYLES
    )
