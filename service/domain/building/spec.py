"""Build specifications: frozen when a build is planned, and stored with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.project.policy import RULE, Layout
from service.domain.project.project_file import Commands, parse_job
from service.domain.sources.workspace import Workspace
from service.domain.values.identity import RunKind, digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.project.job import Job


REVIEWED: Final = "reviewed"
"""The trust in a merged commit."""
UNREVIEWED: Final = "unreviewed"
"""The trust in a commit that is not merged."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge that Benchgate makes: of ``commit`` into ``onto``.

    ``since`` is the commit from which the differences of both are taken; empty: their common ancestors.
    """

    onto: str
    commit: str
    since: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit with its tree. A mirror fetches it by ``ref``; ``trust`` says who could write it.

    ``merge`` makes the commit if no review server has it.
    """

    commit: str
    tree: str
    ref: str
    trust: str
    merge: Merge | None = None

    @property
    def pushed(self) -> str:
        """The commit that the review server has."""
        return self.merge.commit if self.merge else self.commit

    @property
    def is_under_review(self) -> bool:
        """Return whether the commit was not merged when the build was planned."""
        return self.trust == UNREVIEWED

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON; those that a previous version does not know only if needed."""
        return {name: value for name, value in asdict(self).items() if name != "merge" or value}

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> Revision:
        """Parse what :meth:`to_mapping` made."""
        merge = found.get("merge")
        return Revision(**{**found, "merge": Merge(**merge) if merge else None})


@dataclass(frozen=True, slots=True)
class MorePairs:
    """A request for more pairs of the undecided benchmarks that match the filter.

    ``pairs`` is the total to reach, not an increment, so a worker that takes over measures no more.
    """

    filter: str
    pairs: int


NO_COMMANDS: Final = Commands()
_ONLY_IF_SET: Final = (
    "is_renaming",
    "filter",
    "is_named",
    "is_time_asked",
    "workspace",
    "conflict",
    "path_owners",
    "is_explained",
    "claimed_names",
)
LOCAL: Final = "local"
"""The instance of a build on a developer's machine."""


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """Two revisions of a project to compare, and the job that says how.

    Args:
        base: None for a root commit.
        jobs: the number of benchmark jobs in the round that can vote; they share the patch set's false-alarm
            rate.
        session: the run of a calibration, because its sequence is never continued; 0: any other build.
        longer: more pairs than the policy's.
        commands: the groups with permissions at planning, for the commands that pages and messages offer. A
            group's name is empty if a previous version planned the build.
        second: a second opinion: slow-downs that vote −1 are measured again in a sequence of their own.
        is_renaming: renames come from the patch set's own project file.
        filter: the benchmarks that a local gate measures; empty: all.
        is_named: the filter is the name of a single benchmark, or a part of it. If it is explained, then
            also if it is not slower.
        is_time_asked: a person chose the machine time of a local gate.
        workspace: all repositories of a project that has several, at the commits of the planning.
        conflict: the head of the branch if the patch set conflicts with it, which withholds a +1.
        is_explained: a local gate says what was counted of slower benchmarks.
        path_owners: of a merged commit, the addresses of the job's ``path_owners`` whose files it changed.
        claimed_names: benchmarks that the commit message claims something of, if the job's filters may leave
            out some. They are measured after the report, and change neither listings, family nor pairs.
    """

    kind: RunKind
    instance: str
    project: str
    branch: str
    base: Revision | None
    patch: Revision
    job: Job
    jobs: int = 1
    session: int = 0
    longer: MorePairs | None = None
    commands: Commands = NO_COMMANDS
    second: bool = False
    is_renaming: bool = False
    filter: str = ""
    is_named: bool = False
    is_time_asked: bool = False
    workspace: Workspace | None = None
    conflict: str = ""
    path_owners: tuple[str, ...] = ()
    is_explained: bool = False
    claimed_names: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Return whether this is a local gate, which leaves no evidence."""
        return self.instance == LOCAL

    @property
    def judged(self) -> Job:
        """The job with this build's share of the patch set's false-alarm rate."""
        policy = self.job.policy
        part = replace(policy, false_alarms=policy.false_alarms / max(self.jobs, 1))
        return replace(self.job, policy=part)

    @property
    def explained(self) -> Job:
        """The judged job that says what to explain: builds of fixed pairs measure no relinks."""
        job = self.judged
        if not self.kind.has_fixed_pairs:
            return job
        return replace(job, policy=replace(job.policy, layout=Layout.OFF))

    @property
    def sequence(self) -> str:
        """The identity of a sequence of pairs: same trees, configuration and rule.

        Builds of a sequence continue each other's pairs, however many each wants: a verdict depends only on
        the pairs before it. A merged commit that its check compared with the same parent goes on where the
        check ended: what is decided needs no pair, and the rest gets the machine time once more.
        """
        base = self.base.tree if self.base else ""
        is_merged = self.kind in {RunKind.POST_SUBMIT, RunKind.LONGER} and self.job.compares
        parts = [
            RunKind.CHECK if is_merged else self.kind,
            self.instance,
            self.project,
            base,
            self.patch.tree,
            self.job.config_hash,
            self.jobs,
            RULE,
            *([self.session] if self.session else []),
            *([self.workspace.digest] if self.workspace else []),
            *([self.conflict] if self.conflict else []),
        ]
        return digest_of({"sequence": parts})

    @property
    def shared_sequence(self) -> str:
        """The sequence; empty if the build shares nothing with others."""
        job = self.job
        return self.sequence if job.kind.is_known and job.configuration.shares_results else ""

    @property
    def build_hash(self) -> str:
        """A digest of everything that determines the programs, except the project's own repository."""
        own = self.job.build_hash
        return digest_of({"build": own, "workspace": self.workspace.digest}) if self.workspace else own

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        left_out = {"commands", *(name for name in _ONLY_IF_SET if not getattr(self, name))}
        names = [each.name for each in fields(self) if each.name not in left_out]
        groups = {each: self.commands.group_for(each) for each in self.commands.granted}
        # Absent if there are none, as in the specifications of previous versions.
        granted = {"permissions": list(groups), "groups": groups} if groups else {}
        return (
            granted
            | {name: getattr(self, name) for name in names}
            | {
                "kind": str(self.kind),
                "base": self.base.to_mapping() if self.base else None,
                "patch": self.patch.to_mapping(),
                "job": self.job.name,
                "config": self.job.source,
                "longer": asdict(self.longer) if self.longer else None,
            }
            | ({"workspace": self.workspace.to_mapping()} if self.workspace else {})
        )

    @staticmethod
    def from_mapping(found: Mapping[str, Any]) -> BuildSpec:
        """Parse what :meth:`to_mapping` made."""
        return BuildSpec(
            kind=RunKind(found["kind"]),
            instance=found["instance"],
            project=found["project"],
            branch=found["branch"],
            base=Revision.from_mapping(found["base"]) if found["base"] else None,
            patch=Revision.from_mapping(found["patch"]),
            job=parse_job(found["job"], found["config"]),
            jobs=found["jobs"],
            session=found.get("session", 0),
            longer=MorePairs(**found["longer"]) if found.get("longer") else None,
            commands=Commands(**dict.fromkeys(found.get("permissions", ()), "") | found.get("groups", {})),
            second=found.get("second", False),
            is_renaming=found.get("is_renaming", False),
            filter=found.get("filter", ""),
            is_named=found.get("is_named", False),
            is_time_asked=found.get("is_time_asked", False),
            workspace=Workspace.from_mapping(found["workspace"]) if found.get("workspace") else None,
            conflict=found.get("conflict", ""),
            path_owners=tuple(found.get("path_owners", ())),
            is_explained=found.get("is_explained", False),
            claimed_names=tuple(found.get("claimed_names", ())),
        )


@dataclass(frozen=True, slots=True)
class BinaryKey:
    """The cache key of a program.

    ``trust`` separates programs of unreviewed code from those of reviewed code. ``link_variant`` names a
    relink of the same objects; empty: the project's own link.
    """

    tree: str
    build_hash: str
    toolchain: str
    trust: str = REVIEWED
    link_variant: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the key, as 64 hexadecimal digits."""
        return digest_of(asdict(self))

    def relinked(self, variant: int, *, is_built: bool = False) -> BinaryKey:
        """Return the key of the same objects, relinked in the order of a variant.

        ``is_built``: the project's build commands ran again for it, so the objects may be others.
        """
        # Previous versions stored what the build commands made as "relink N" and "relink N of all".
        return replace(self, link_variant=f"relink {variant} by the {'build' if is_built else 'linker'}")

    @property
    def link_seed(self) -> int:
        """The seed of a relink's order, from 1 to 2³¹ − 2, the range of its generator.

        It depends on the whole key: the two sides of a comparison never share a layout, and all machines make
        the same program for a key.
        """
        return 1 + int(self.digest[:16], 16) % (2**31 - 2)
