"""Report how a machine's work on a build ended, and how the build ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from service.domain.building.findings import findings_from
from service.domain.failures.failure import failures_from
from service.domain.runs.build_outcome import Circumstances
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.building.findings import Finding
    from service.domain.failures.failure import Failure

PATCH_BUILT: Final = "build patch"
"""Phase that has a duration if the build commands of the patch's side succeeded."""
CHECKED: Final = "check"
"""Phase that has a duration if a linter checked something, or found that it cannot."""


@dataclass(frozen=True, slots=True)
class BuildEnd:
    """Outcome of a build, the sentences of its causes, and the benchmarks that are slower.

    ``notes`` are sentences for pages only. ``failures`` are the reasons in a form that can be recognised
    again; ``is_cut``: there were more. ``cleared`` are failures that a retry cleared: they do not count here,
    but show that a failure is intermittent.
    """

    outcome: Outcome
    causes: tuple[str, ...] = ()
    blamed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    is_cut: bool = False
    cleared: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineReport:
    """Result of a machine's work on a build.

    ``outcome`` is None if pairs were measured and the analysis decides. ``seconds`` has the duration of each
    phase. ``conditions`` are the sandbox, its limits and the tool chain. ``findings`` are messages about a
    file and a line of the patch's side. ``is_parent_lost`` and ``is_used_up_by_patch`` are those of
    :class:`~service.domain.runs.build_outcome.Circumstances`; ``failures``, ``is_cut`` and ``cleared`` those
    of :class:`BuildEnd`. ``tests`` is the artifact with the test cases; empty if the kind has none.
    ``retried`` names the tests that failed and then passed on a retry. ``why`` has the explanations of slower
    benchmarks, for the JSON of a local gate. ``is_explained_later``: a benchmark is slower, and its machine
    goes on to explain that.
    """

    outcome: Outcome | None = None
    causes: tuple[str, ...] = ()
    pairs: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    is_parent_lost: bool = False
    is_used_up_by_patch: bool = False
    failures: tuple[Failure, ...] = ()
    is_cut: bool = False
    tests: str = ""
    retried: tuple[str, ...] = ()
    cleared: tuple[Failure, ...] = ()
    why: tuple[Mapping[str, Any], ...] = ()
    is_explained_later: bool = False

    @property
    def circumstances(self) -> Circumstances:
        """Circumstances of measuring the pairs."""
        return Circumstances(is_parent_lost=self.is_parent_lost, is_used_up_by_patch=self.is_used_up_by_patch)

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return asdict(self)

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> MachineReport:
        """Read the values of :meth:`to_mapping`, also of a version that stored fewer."""
        failures, is_cut = failures_from(found.get("failures"))
        return MachineReport(
            outcome=Outcome(found["outcome"]) if found["outcome"] else None,
            causes=tuple(found["causes"]),
            pairs=found["pairs"],
            seconds=found["seconds"],
            conditions=found["conditions"],
            findings=findings_from(found.get("findings")),
            is_parent_lost=bool(found.get("is_parent_lost", False)),
            is_used_up_by_patch=bool(found.get("is_used_up_by_patch", False)),
            failures=failures,
            is_cut=is_cut or bool(found.get("is_cut", False)),
            tests=str(found.get("tests", "")),
            retried=tuple(found.get("retried", ())),
            cleared=failures_from(found.get("cleared"))[0],
            why=tuple(found.get("why", ())),
            is_explained_later=bool(found.get("is_explained_later", False)),
        )
