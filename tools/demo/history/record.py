"""``python -m tools.demo.history.record``: measure the commits of the history on this machine."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click
from sqlalchemy import text

from service.adapters.embedded.children import Supervisor
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.machines.linux import read_environment
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.persisted import mappings_of_listings
from service.cli import run
from service.cli.operating.status_lines import StatusLines
from service.cli.services.preconditions import make_home
from service.config.control import ControlSettings
from service.domain.project.project_file import parse_project_file, plan_builds
from service.domain.values.identity import ChangeAddress
from service.steps.machines.execute import execute_build
from service.wiring.build_host import make_build_host
from service.wiring.control import build_control
from service.wiring.machine import LoggedProgress
from tools.demo.events import change_merged
from tools.demo.history.commits import HISTORY
from tools.demo.history.load import report_recorded
from tools.demo.history.programs import Programs
from tools.demo.history.recording import (
    RECORDED,
    RecordedBuild,
    RecordedPair,
    Recording,
    build_from,
    write_recording,
)
from tools.demo.history.through_service import submit
from tools.demo.repository import DemoRepository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.ports.machines import Claimed
    from service.ports.runs.builds import BuildRecord
    from service.steps.building.session import BuildHost
    from service.wiring.control import Control
    from tools.demo.repository import Commit

_NATIVE: Final = Path(__file__).resolve().parents[3] / "native"
_POOL: Final = "perf"
# Replacements in the project file that make recording quick: few repetitions, fewer benchmarks, and
# one translation unit for each target.
_QUICKER: Final = MappingProxyType(
    {
        "machine_time: 3m": "machine_time: 1m",
        "|PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:2$'": "'\n        repetitions: 4",
        "/bytes:1048576/'": "/bytes:1048576/'\n        repetitions: 4",
        "--preset measure\n": "--preset measure -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0\n",
    }
)
_LOG: Final = text("SELECT log FROM build WHERE id = :build")
_FACTS: Final = text("""
SELECT l.variant, l.pair, l.suite, l.side, l.facts FROM launch AS l
JOIN build AS b ON b.sequence_id = l.sequence_id
WHERE b.id = :build ORDER BY l.variant, l.pair, l.suite, l.side
""")


@click.command()
@click.option(
    "--home",
    default="var/recording",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Working directory; a recording that was interrupted continues there.",
)
def command(home: Path) -> None:
    """Measure each commit of the demo's history against its parent, and pack the results.

    Takes about twenty minutes on two idle cores. The newest commit is measured first, so that each build of a
    parent is used again for the next comparison. Programs are also used again for commits that cannot change
    them.
    """
    home = home.absolute()
    done = home / "builds"
    done.mkdir(parents=True, exist_ok=True)
    for name in ("postgres", "repository", "native", "review.sqlite", "control"):
        path = home / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    make_home(home)
    with StatusLines() as lines, control_plane(home, lines) as (plane, machine_database_url):
        commits = _repository(home)
        jobs = _jobs_of_changes(home / "repository")
        remote = str(home / "repository")
        host = make_build_host(home / "machine", lambda _: remote, (), is_sandboxed=True)
        host = replace(host, artifacts=plane.artifacts)
        environment, in_force = read_environment(), host.sandbox.in_force()
        fingerprint = environment.fingerprint(in_force)
        facts: dict[str, Any] = {**environment.to_mapping(), "in_force": dict(in_force)}
        facts["recorded"] = f"{datetime.now(UTC):%Y-%m-%d}"
        engine = make_engine(machine_database_url)
        worklist = MachineWorklist(engine, MachineIdentity("recorder", _POOL, _POOL), plane.artifacts)
        worklist.register(fingerprint, facts)
        programs = Programs(plane.engine, host.toolchain, list(zip(commits, HISTORY, strict=True)))
        for commit in reversed(commits):
            change = commit.upload.change
            paths = {job: done / f"{change}-{job}.json" for job in jobs[change]}
            earlier = {job: _read_build(path) for job, path in paths.items() if path.exists()}
            if len(earlier) < len(paths):
                begun = time.monotonic()
                for build in _measure(plane, worklist, host, commit, programs, earlier):
                    paths[build.job].write_text(json.dumps(asdict(build)))
                seconds = time.monotonic() - begun
                lines.say(f"{change}: {', '.join(paths)}, {seconds:.0f} s")
        engine.dispose()
    builds = [_read_build(done / f"{change}-{job}.json") for change in jobs for job in jobs[change]]
    write_recording(RECORDED, Recording(fingerprint, facts, builds))
    click.echo(f"{RECORDED}: {RECORDED.stat().st_size / 1024:.0f} KiB")


@contextmanager
def control_plane(home: Path, lines: StatusLines) -> Iterator[tuple[Control, str]]:
    """Start a database; yield a control plane with it, and its address for machines."""
    postgres = EmbeddedPostgres(home / "postgres")
    with Supervisor(lines) as supervisor:
        supervisor.start(postgres.prepare(home / "log", durable=False))
        migrate(postgres.owner_url, postgres.administrator_url)
        settings = ControlSettings(
            home=home,
            database_url=postgres.owner_url,
            redis_url="redis://127.0.0.1:1",  # no hint is sent
            instance="demo",
            gerrit_url="",
            git_url=str(home / "repository"),
        )
        with closing(build_control(settings)) as plane:
            yield plane, postgres.machine_url
    postgres.release()


def _repository(home: Path) -> Sequence[Commit]:
    native = home / "native"
    shutil.copytree(_NATIVE, native, ignore=shutil.ignore_patterns("build"))
    project_file = native / "benchgate.yaml"
    quicker = project_file.read_text(encoding="utf-8")
    for usual, quick in _QUICKER.items():
        quicker = quicker.replace(usual, quick)
    project_file.write_text(quicker, encoding="utf-8")
    start = datetime.now(UTC)
    dated = [(commit, start + timedelta(minutes=place)) for place, commit in enumerate(HISTORY)]
    return DemoRepository(home / "repository").create(native, history=dated)


def _jobs_of_changes(repository: Path) -> Mapping[int, Sequence[str]]:
    """List the jobs that measure each change of the history, by the project file at its end."""
    project_file = parse_project_file((repository / "benchgate.yaml").read_text(encoding="utf-8"))
    return {
        commit.change: [
            build.job.name for build in plan_builds(project_file, [commit.variation.file]) if build.is_needed
        ]
        for commit in HISTORY
    }


def _read_build(path: Path) -> RecordedBuild:
    return build_from(json.loads(path.read_text(encoding="utf-8")))


def _measure(
    plane: Control,
    worklist: MachineWorklist,
    host: BuildHost,
    commit: Commit,
    programs: Programs,
    earlier: Mapping[str, RecordedBuild],
) -> Sequence[RecordedBuild]:
    """Merge a commit, measure the builds that were not measured earlier, and read what was stored of them."""
    change = commit.upload.change

    def work(claimed: Claimed) -> None:
        if claimed.name.rpartition("/")[0] in earlier:
            report_recorded(earlier, claimed)
            return
        programs.offer(claimed)
        execute_build(claimed, host, LoggedProgress())
        programs.remember(claimed)

    submit(plane, worklist, change_merged(commit, int(time.time())), work)
    [merged] = plane.reading.patch_set(ChangeAddress(change), 1).runs
    with plane.store.transaction() as tx:
        builds = [each for each in tx.builds.of_run(merged.id) if each.execution is not None]
    return [_recorded(plane, change, build) for build in builds if build.job not in earlier]


def _recorded(plane: Control, change: int, build: BuildRecord) -> RecordedBuild:
    """Read what a machine stored of a build."""
    sequence, execution = build.sequence_id, build.execution
    if sequence is None or execution is None:
        raise ValueError(f"change {change} was not measured")
    with plane.store.transaction() as tx:
        listings, stored = tx.measurements.listings(sequence), tx.measurements.stored_pairs(sequence)
    with plane.engine.connect() as connection:
        launches = connection.execute(_FACTS, {"build": build.id}).all()
        log = connection.execute(_LOG, {"build": build.id}).scalar_one()
    pairs = []
    for each in stored:
        facts = [
            {"suite": row.suite, "side": row.side, "facts": row.facts}
            for row in launches
            if (row.variant, row.pair) == (each.variant, each.pair)
        ]
        raw = plane.artifacts.get(each.artifact).decode()
        pairs.append(RecordedPair(each.variant, each.pair, raw, facts))
    text_of_log = plane.artifacts.get(log).decode(errors="replace")
    return RecordedBuild(change, build.job, mappings_of_listings(listings), pairs, execution, text_of_log)


if __name__ == "__main__":
    run(command)
