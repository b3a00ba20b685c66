"""Measure two programs with the service's own steps, without a server and without a sandbox."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.adapters.building import packing
from service.domain.measuring.pair_record import MeasuredPairs
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Layout, Policy
from service.domain.runs.judge_build import judge_measured
from service.domain.values.identity import Side
from service.domain.wording.measured_causes import measured_causes
from service.steps.measuring.course import Course
from service.steps.measuring.launching import Launcher
from service.steps.measuring.measure import measure
from service.steps.measuring.rehearse import fix_listings, rehearse
from service.wiring.build_host import make_build_host
from tests.support.building.build_host import MemoryClaimed, session_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.verdict.inference.verdict import Comparison
    from service.ports.building import Packer, Sandbox

POLICY: Final = Policy(probation=0, layout=Layout.OFF)


@dataclass(frozen=True, slots=True)
class Found:
    """The judgement of two programs, with its pairs and seconds."""

    comparisons: tuple[Comparison, ...]
    causes: tuple[str, ...]
    pairs: int
    seconds: float


def job_of(*suites: Suite) -> Job:
    """Make a job that measures these suites and counts no instructions."""
    return Job("verdicts", JobKind("benchmark"), BenchmarkConfiguration(suites=suites), policy=POLICY)


def compare_programs(
    work: Path,
    sides: Mapping[Side, Mapping[str, Path]],
    job: Job,
    seed: str,
    packer: Packer = packing,
    sandbox: Sandbox | None = None,
) -> Found:
    """Measure and judge as a build does, from the listing of the benchmarks to the last look.

    Args:
        work: a directory for what is laid out; one call at a time.
        sides: by side and suite, the program.
        job: its suites are measured; their programs are laid out below ``build/``.
        seed: of every random choice.
        packer: renews the programs between the pairs.
        sandbox: runs the programs; None: they run without one.
    """
    placed = tuple(replace(suite, program=f"build/{suite.name}") for suite in job.benchmark.suites)
    job = replace(job, configuration=replace(job.benchmark, suites=placed))
    # Names of one length: they are a part of the programs' environment.
    trees = {side: _lay_out(work / f"tree-{side:_>5}", programs) for side, programs in sides.items()}
    host = make_build_host(work / "home", lambda project: project, (), is_sandboxed=False)
    host = replace(host, packer=packer, sandbox=sandbox or host.sandbox)
    build = MemoryClaimed(seed=seed)
    launcher = Launcher(session_of(host, job, build), trees)
    base = rehearse(launcher, Side.BASE)
    rehearsals = {Side.BASE: base, Side.PATCH: rehearse(launcher, Side.PATCH, base)}
    listings = fix_listings(launcher.session, rehearsals)
    course = Course.of(launcher.session.spec, listings)
    found = measure(replace(launcher, listings=listings), course, MeasuredPairs())
    judged = judge_measured(job, build.fixed or (), build.pairs())
    causes = measured_causes(judged, job.policy, "this machine")
    return Found(judged.comparisons, causes, found.pairs, found.seconds)


def _lay_out(tree: Path, programs: Mapping[str, Path]) -> Path:
    build = tree / "build"
    shutil.rmtree(tree, ignore_errors=True)
    build.mkdir(parents=True)
    for suite, program in programs.items():
        shutil.copy2(program, build / suite)
    return tree
