"""Parse ``benchgate.yaml``, which is read from the target branch.

An unknown key is an error; each error names line, key and the allowed values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final

import pathspec

from service.domain.project.configuration import Configuration, Work
from service.domain.project.dependencies import Pinned
from service.domain.project.forms import Name, NotAllowed, Record, Text, about, after, not_empty, text
from service.domain.project.job import Job
from service.domain.project.job_kinds import KINDS, OWN_FILE, JobKind
from service.domain.project.manifest_key import Manifest, ManifestKey
from service.domain.project.policy import ON_NOTHING, Policy, VoteWhen
from service.domain.project.validation import Key, keys_of, problems_in, read
from service.domain.project.yaml_reader import Path, Places, read_yaml
from service.domain.values.errors import BadProjectFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FILE_NAME: Final = "benchgate.yaml"
_RUNS_ONCE: Final = f"{FILE_NAME} is checked once per patch set: correct it, and upload a new patch set"
MAX_BYTES: Final = 256 << 10  # a project file is written by hand
_LABEL: Final = text(
    r"[A-Za-z][A-Za-z0-9-]{0,63}", "letters, digits and hyphens after a letter, at most 64 characters"
)


def _version(value: object) -> object:
    if value != 1 or value is True:
        raise NotAllowed(value, "1")
    return value


class Permission(StrEnum):
    """Keys of `commands`; each names the group that may use some comment commands."""

    RERUN = "rerun"
    OVERRIDE = "override"
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class Commands(Record):
    """Groups of the review server that may use comment commands; None: nobody."""

    rerun: Annotated[Text | None, about("the group that may run builds again")] = None
    override: Annotated[Text | None, about("the group that may override results")] = None
    trusted: Annotated[Text | None, about("the group whose code runs at once; default: everybody's")] = None

    def group_for(self, permission: Permission) -> str | None:
        """Return the group with a permission; None: nobody has it."""
        match permission:
            case Permission.RERUN:
                return self.rerun
            case Permission.OVERRIDE:
                return self.override
            case Permission.TRUSTED:
                return self.trusted

    @property
    def granted(self) -> tuple[Permission, ...]:
        """Permissions that some group has."""
        return tuple(each for each in Permission if self.group_for(each) is not None)


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A parsed ``benchgate.yaml``."""

    jobs: tuple[Job, ...]
    label: str = "Verified"
    commands: Commands = Commands()
    manifest: ManifestKey | None = None

    def job(self, name: str) -> Job:
        """Return the job of that name; raise BadProjectFile, which lists all jobs, if there is none."""
        for job in self.jobs:
            if job.name == name:
                return job
        known = ", ".join(j.name for j in self.jobs) or "none"
        raise BadProjectFile(f"there is no job {name!r}; there are: {known}", FILE_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile(Record):
    """The jobs that Benchgate runs for a project."""

    version: Annotated[Any, after(_version, const=1, type="integer"), about("of this format")]
    label: Annotated[str, _LABEL, about("the label that is voted on")] = "Verified"
    jobs: Annotated[
        dict[Name, Any], not_empty("job", minProperties=1), about("what runs for each patch set, by name")
    ]
    dependencies: Pinned = field(default_factory=dict)
    manifest: Manifest = None
    commands: Annotated[Commands, about("who may use commands")] = field(default_factory=Commands)


@dataclass(frozen=True, slots=True)
class VotingPolicy(Record):
    """The policy of a job that measures nothing."""

    on_nothing_to_build: Annotated[VoteWhen, about(ON_NOTHING)] = VoteWhen.PASS

    def whole(self) -> Policy:
        """Return the whole policy, with the defaults of all other keys."""
        return Policy(on_nothing_to_build=self.on_nothing_to_build)


_OF_ANY_KIND: Final = {
    "kind": keys_of(Job)["kind"]._replace(hint=Name),
    **{name: keys_of(Job)[name] for name in ("paths", "voting")},
}


def parse_project_file(text: str, *, where: str = FILE_NAME) -> ProjectFile:
    """Parse a project file.

    Raises:
        BadProjectFile: names line, key and the allowed values.
    """
    written, places = _read_text(text, where)
    keys = WrittenFile(**read(keys_of(WrittenFile), written, (), places))
    shared = written["dependencies"] if keys.dependencies else {}
    sources = {name: _with_dependencies(source, shared) for name, source in keys.jobs.items()}
    jobs = tuple(_job(name, source, ("jobs", name), places) for name, source in sources.items())
    return ProjectFile(jobs, keys.label, keys.commands, keys.manifest)


def problems_of(text: str, *, where: str = FILE_NAME) -> tuple[BadProjectFile, ...]:
    """List all problems of a project file and of its jobs, by line."""
    try:
        written, places = _read_text(text, where)
    except BadProjectFile as error:
        return (error,)
    found = [*problems_in(keys_of(WrittenFile), written, (), places)]
    jobs = written.get("jobs") if isinstance(written, dict) else None
    for name, source in jobs.items() if isinstance(jobs, dict) else ():
        found += _problems_of_job(name, source, ("jobs", name), places)
    return tuple(sorted(found, key=lambda error: error.line))


def parse_job(name: str, source: dict[str, Any]) -> Job:
    """Parse a job from its stored configuration, :attr:`Job.source`."""
    # A previous version accepted this key, without effect.
    known = {key: source[key] for key in source if (source.get("kind"), key) != ("benchmark", "retries")}
    job = replace(_job(name, known, (), Places(f"job {name}")), source=source)
    return replace(job, problem=_RUNS_ONCE) if job.kind == OWN_FILE else job


def _with_dependencies(source: Any, shared: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any YAML
    """Copy the dependencies of the file into a job that builds and has none of its own.

    They become part of its stored specification and of the digests by which results and programs are reused.
    """
    kind = _known_kind(source)
    if not shared or kind is None or "build" not in keys_of(kind.configuration):
        return source
    build = source.get("build") or {}
    if not isinstance(build, dict) or build.get("dependencies") is not None:
        return source
    return {**source, "build": {**build, "dependencies": shared}}


def _known_kind(source: Any) -> JobKind | None:  # noqa: ANN401 - any YAML
    return JobKind(source["kind"]) if isinstance(source, dict) and str(source.get("kind")) in KINDS else None


def _keys_for(kind: JobKind, source: dict[str, Any]) -> Mapping[str, Key]:
    """Return the keys that this job may have; its kind is known."""
    own = kind.configuration
    is_chosen = "compare" in keys_of(own)
    return job_keys(kind, compares=own.may_compare and (not is_chosen or source.get("compare") is True))


@cache
def job_keys(kind: JobKind, *, compares: bool = True) -> Mapping[str, Key]:
    """Return all keys that jobs of a known kind have, with the whole policy if they compare."""
    own = kind.configuration
    keys = {**keys_of(Job), **keys_of(own)}
    keys["kind"] = keys["kind"]._replace(hint=Annotated[str, about("what the job runs", const=str(kind))])
    if not (own.may_compare and compares):
        policy = Annotated[VotingPolicy, after(VotingPolicy.whole), about("when it votes")]
        keys["policy"] = keys["policy"]._replace(hint=policy)
    pool = () if own.is_external else ("pool",)
    told = ("owners", "path_owners", "line_comments") if own.work is Work.BENCHMARKS else ()
    names = ("kind", *pool, "paths", *keys_of(own), "policy", "voting", *told)
    return {name: keys[name] for name in names}


def _read_text(text: str, where: str) -> tuple[Any, Places]:
    if len(text) > MAX_BYTES:
        raise BadProjectFile(f"larger than {MAX_BYTES >> 10} KiB", where)
    return read_yaml(text, where)


def _problems_of_job(name: str, source: Any, at: Path, places: Places) -> Sequence[BadProjectFile]:  # noqa: ANN401
    common = problems_in(_OF_ANY_KIND, _common(source), at, places)
    kind = _known_kind(source)
    found = common if kind is None else problems_in(_keys_for(kind, source), source, at, places)
    return found or _faults(_job(name, source, at, places), at, places)


def _faults(job: Job, at: Path, places: Places) -> tuple[BadProjectFile, ...]:
    """List why this version cannot run a job that is written correctly."""
    if not job.kind.is_known:
        lacks = f"this version does not run {job.kind}; it runs {', '.join(KINDS)}"
        return (places.error((*at, "kind"), lacks),)
    return tuple(places.error((*at, *path), problem) for path, problem in job.configuration.faults())


def _job(name: str, source: dict[str, Any], at: Path, places: Places) -> Job:
    common = read(_OF_ANY_KIND, _common(source), at, places)
    kind = JobKind(common["kind"])
    if not kind.is_known:
        job = Job(name, configuration=Configuration(), pool="", source=source, **common | {"kind": kind})
        return _with_problem(job, at, places)
    keys = read(_keys_for(kind, source), source, at, places)
    own = {key: keys.pop(key) for key in keys_of(kind.configuration) if key in keys}
    pool = {"pool": ""} if kind.is_external else {}
    job = Job(name, configuration=kind.configuration(**own), source=source, **keys | pool | {"kind": kind})
    return _with_problem(job, at, places)


def _common(source: Any) -> Any:  # noqa: ANN401 - any YAML
    """Leave out the keys that only some kinds have."""
    return {key: source[key] for key in source if key in _OF_ANY_KIND} if isinstance(source, dict) else source


def _with_problem(job: Job, at: Path, places: Places) -> Job:
    faults = _faults(job, at, places)
    return replace(job, problem=str(faults[0])) if faults else job


@dataclass(frozen=True, slots=True)
class PlannedBuild:
    """A job of a run; ``is_needed`` is False if no changed file matches its paths."""

    job: Job
    is_needed: bool


def plan_builds(project_file: ProjectFile, changed_paths: Sequence[str] | None) -> tuple[PlannedBuild, ...]:
    """Plan one build per job, in the order of the file; ``changed_paths`` is None for a root commit."""
    return tuple(PlannedBuild(job, is_needed=concerns(job, changed_paths)) for job in project_file.jobs)


def concerns(job: Job, changed_paths: Sequence[str] | None) -> bool:
    """Return whether a changed path matches one of the job's patterns (``.gitignore`` syntax).

    Any file may have changed below a path that ends with a slash, such as a submodule.
    """
    return not job.paths or changed_paths is None or _is_matched(job.paths, changed_paths)


def owners_of_paths(job: Job, changed_paths: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of all entries of ``path_owners`` that a changed path matches."""
    entries = job.path_owners.items()
    matched = (addresses for pattern, addresses in entries if _is_matched([pattern], changed_paths))
    return tuple(dict.fromkeys(chain.from_iterable(matched)))


def _is_matched(patterns: Sequence[str], changed_paths: Sequence[str]) -> bool:
    spec = pathspec.PathSpec.from_lines("gitignore", patterns)
    return any(
        _may_match_below(patterns, path) if path.endswith("/") else spec.match_file(path)
        for path in changed_paths
    )


def _may_match_below(patterns: Sequence[str], directory: str) -> bool:
    """Return whether patterns may match a file below a directory; the last one that decides counts."""
    may_match = False
    for pattern in patterns:
        if _matches(pattern.removeprefix("!"), directory):
            may_match = not pattern.startswith("!")
        elif not pattern.startswith(("!", "#")) and _may_lead_below(pattern, directory):
            may_match = True
    return may_match


def _may_lead_below(pattern: str, directory: str) -> bool:
    parts = pattern.rstrip("/").split("/")
    if len(parts) == 1:
        return True  # it matches at any depth
    if "**" in parts:
        parts = parts[: parts.index("**") + 1]
    return _matches("/".join(("", *parts[: directory.count("/")], "")), directory)


def _matches(pattern: str, path: str) -> bool:
    return pathspec.PathSpec.from_lines("gitignore", [pattern]).match_file(path)
