"""``benchgate.yaml``: what a project asks of Benchgate, read from the target branch.

Every key is known or refused; an error names line, key and what is allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import pathspec

from service.domain.errors import BadProjectFile
from service.domain.inference.policy import Layout, Policy, VoteWhen
from service.domain.project.benchmark import BenchmarkConfiguration, BuildCommands, Instructions, Suite
from service.domain.project.configuration import Configuration, ExternalConfiguration
from service.domain.project.job import Job, JobKind
from service.domain.project.yaml_reader import Form, Node, duration, fraction, read_yaml

MAX_BYTES: Final = 256 << 10  # a project file is written by hand
_NAME: Final = Form(  # a part of URLs, file names and queue names
    r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}",
    "letters, digits and . _ + - after a letter or digit, at most 100 characters",
)
_PATH: Final = Form(
    r"(?!/)(?!.*(^|/)\.\.(/|$)).{1,500}", "paths inside the source tree, without '..', on one line"
)
_PATTERN: Final = Form(r"(?!/).{1,500}", "patterns as in .gitignore that do not begin with a slash")
_LABEL: Final = Form(
    r"[A-Za-z][A-Za-z0-9-]{0,63}", "letters, digits and hyphens after a letter, at most 64 characters"
)
_LEAST_PAIRS: Final = 14  # with fewer no difference of even one benchmark can be proved
_COMMAND: Final = Form(r"rerun|override|trusted", "rerun, override, trusted")
_FOR_OUR_MACHINES: Final = ("pool", "build", "suites", "instructions", "retries")


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A whole ``benchgate.yaml``. ``commands`` names the group that may use each comment command."""

    label: str = "Verified"
    jobs: tuple[Job, ...] = ()
    commands: dict[str, str] = field(default_factory=dict)

    def job(self, name: str) -> Job:
        """The job of that name, or BadProjectFile naming those there are."""
        for job in self.jobs:
            if job.name == name:
                return job
        known = ", ".join(j.name for j in self.jobs) or "none"
        raise BadProjectFile(f"there is no job {name!r}; there are: {known}", "benchgate.yaml")


def parse_project_file(text: str, *, where: str = "benchgate.yaml") -> ProjectFile:
    """Read a project file.

    Raises:
        BadProjectFile: with line, key and what is allowed.
    """
    if len(text) > MAX_BYTES:
        raise BadProjectFile(f"larger than {MAX_BYTES >> 10} KiB", where)
    root = read_yaml(text, where)
    root.only("version", "label", "jobs", "commands")
    root.need("version").one_of(1)
    jobs = tuple(_job(name, node) for name, node in root.need("jobs").items(_NAME))
    if not jobs:
        raise root.need("jobs").error("at least one job is needed")
    label = root.get("label")
    commands = root.get("commands")
    return ProjectFile(
        label=label.text(_LABEL) if label else "Verified",
        jobs=jobs,
        commands={k: v.text() for k, v in commands.items(_COMMAND)} if commands else {},
    )


def parse_job(name: str, source: dict[str, Any]) -> Job:
    """The job from its stored configuration, as :attr:`Job.source` holds it."""
    return _job(name, Node.of(source, f"job {name}"))


def _job(name: str, node: Node) -> Job:
    if (given := node.get("kind")) is not None and given.value == JobKind.EXTERNAL:
        return _external_job(name, node)
    node.only("kind", "pool", "paths", "build", "suites", "policy", "voting", "instructions", "retries")
    kind = JobKind(node.need("kind").one_of(*JobKind))
    found = BenchmarkConfiguration(
        build=_build(node.get("build")),
        suites=tuple(_suite(each) for each in node.list_at("suites")),
        instructions=_instructions(node),
        retries=node.whole_at("retries", 0, at_most=5),
    )
    job = Job(
        name=name,
        kind=kind,
        configuration=found if kind is JobKind.BENCHMARK else Configuration(),
        pool=node.text_at("pool", "perf", _NAME),
        paths=tuple(_pattern(each) for each in node.list_at("paths")),
        policy=_policy(node.get("policy")),
        voting=node.flag_at("voting", default=True),
        source=node.plain(),
    )
    if kind is JobKind.BENCHMARK:
        _check_suites(node, found.suites)
    elif found.suites:
        raise node.need("suites").error(f"suites belong to jobs of kind benchmark, this is {kind}")
    elif found.instructions is not Instructions.OFF:
        raise node.need("instructions").error(f"only jobs of kind benchmark count them, this is {kind}")
    return job


def _external_job(name: str, node: Node) -> Job:
    """Another CI runs it: here is only said what it concerns, and how it counts."""
    for key in _FOR_OUR_MACHINES:
        if (given := node.get(key)) is not None:
            raise given.error(
                "another CI runs jobs of kind external; allowed are kind, paths, policy, voting"
            )
    node.only("kind", "paths", "policy", "voting")
    policy = node.get("policy")
    if policy is not None:
        policy.only("on_nothing_to_build")
    return Job(
        name=name,
        kind=JobKind.EXTERNAL,
        configuration=ExternalConfiguration(),
        pool="",
        paths=tuple(_pattern(each) for each in node.list_at("paths")),
        policy=_policy(policy),
        voting=node.flag_at("voting", default=True),
        source=node.plain(),
    )


def _pattern(node: Node) -> str:
    pattern = node.text(_PATTERN)
    try:
        pathspec.PathSpec.from_lines("gitignore", [pattern])
    except (ValueError, re.error):
        raise node.error(f"{pattern!r} is not allowed; allowed are {_PATTERN.words}") from None
    return pattern


def _check_suites(node: Node, suites: tuple[Suite, ...]) -> None:
    if not suites:
        raise node.error("a job of kind benchmark needs suites: a list of {name, program}")
    names = [suite.name for suite in suites]
    if doubles := {n for n in names if names.count(n) > 1}:
        raise node.need("suites").error(f"suite names must differ; twice: {', '.join(sorted(doubles))}")


def _instructions(node: Node) -> Instructions:
    given = node.get("instructions")
    # YAML 1.1 reads a bare `off` as false.
    if given is None or given.value is False:
        return Instructions.OFF
    return Instructions(given.one_of(*Instructions))


def _build(node: Node | None) -> BuildCommands:
    if node is None:
        return BuildCommands()
    node.only("configure", "compile", "keep", "timeout")
    return BuildCommands(
        configure=node.text_at("configure", ""),
        compile=node.text_at("compile", ""),
        keep=tuple(each.text(_PATH) for each in node.list_at("keep")),
        timeout=node.value_at("timeout", duration, BuildCommands().timeout),
    )


def _suite(node: Node) -> Suite:
    node.only(*(f for f in Suite.__dataclass_fields__))
    default = Suite("", "")
    metrics = [each.text() for each in node.list_at("metrics")]
    if doubles := {name for name in metrics if metrics.count(name) > 1}:
        raise node.need("metrics").error(f"metrics must differ; twice: {', '.join(sorted(doubles))}")
    return Suite(
        name=node.need("name").text(_NAME),
        program=node.need("program").text(_PATH),
        filter=node.text_at("filter", ""),
        args=tuple(each.text() for each in node.list_at("args")),
        metrics=tuple(metrics),
        higher_is_better=tuple(each.text() for each in node.list_at("higher_is_better")),
        cpus=node.whole_at("cpus", default.cpus, at_least=1, at_most=1024),
        repetitions=_repetitions(node),
        min_time=node.value_at("min_time", duration, 0.0) or None,
        timeout=node.value_at("timeout", duration, default.timeout),
    )


def _repetitions(node: Node) -> int | None:
    return node.whole_at("repetitions", 1, at_least=1, at_most=100) if node.get("repetitions") else None


def _policy(node: Node | None) -> Policy:
    default = Policy()
    if node is None:
        return default
    node.only(*(f for f in Policy.__dataclass_fields__))
    policy = Policy(
        floor=node.value_at("floor", fraction, default.floor),
        vote_at=node.value_at("vote_at", fraction, default.vote_at),
        same_within=node.value_at("same_within", fraction, default.same_within),
        false_alarms=node.value_at("false_alarms", fraction, default.false_alarms),
        machine_time=node.value_at("machine_time", duration, default.machine_time),
        max_pairs=node.whole_at("max_pairs", default.max_pairs, at_least=_LEAST_PAIRS, at_most=1000),
        probation=_probation(node, default.probation),
        on_undecided=VoteWhen(node.choice_at("on_undecided", default.on_undecided, *VoteWhen)),
        on_nothing_to_build=VoteWhen(
            node.choice_at("on_nothing_to_build", default.on_nothing_to_build, *VoteWhen)
        ),
        layout=_layout(node, default.layout),
    )
    if not 0 < policy.false_alarms <= 0.2:  # noqa: PLR2004 - beyond, a vote would mean nothing
        raise node.need("false_alarms").error("allowed is more than 0 % and at most 20 %")
    if policy.floor > policy.same_within:
        raise node.error("floor must not exceed same_within")
    return policy


def _layout(node: Node, default: Layout) -> Layout:
    given = node.get("layout")
    if given is None:
        return default
    # YAML 1.1 reads a bare `off` as false.
    return Layout.OFF if given.value is False else Layout(given.one_of(*Layout))


def _probation(node: Node, default: int) -> int:
    given = node.get("probation")
    if given is None:
        return default
    # YAML 1.1 reads a bare `off` as false.
    if given.value is False or given.value == "off":
        return 0
    return given.whole(at_most=10_000)
