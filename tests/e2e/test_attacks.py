"""Patches that attack their own judgement get −1 or no vote, and honest ones beside them what they should."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeAddress
from tests.e2e.conftest import RunningSite, started
from tests.support.project.tiny_project import COMPILE, PROGRAM, TinyProject
from tests.support.small_disk import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

# A job for each attack that needs a policy or a build of its own. They have names of files that no other job
# has, so that a change runs one job.
JOBS: Final = """\
  roomy-perf:
    kind: benchmark
    paths: ["*.roomy"]
    build: {compile: sh compile.roomy}
    suites: [{name: roomy, program: build/roomy, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14}
  relinked-perf:
    kind: benchmark
    paths: ["*.relinked"]
    build: {compile: sh compile.relinked}
    suites: [{name: relinked, program: build/relinked, repetitions: 1}]
    policy: {probation: off, max_pairs: 14}
  brief-perf:
    kind: benchmark
    paths: ["*.brief"]
    build: {compile: sh compile.brief}
    suites: [{name: brief, program: build/brief, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14, machine_time: 10s}
  stale-perf:
    kind: benchmark
    paths: ["*.stale"]
    build: {compile: sh compile.stale}
    suites: [{name: stale, program: build/stale, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14}
  reading-perf:
    kind: benchmark
    paths: ["*.h", "*.md"]
    build: {compile: sh compile.reading}
    suites: [{name: reading, program: build/reading, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14}
"""
PATIENCE: Final = 600.0  # seconds: all patches are pushed at once, and one is tried three times
LEASE: Final = 20  # seconds: reading 47 MiB of no text keeps the worker from its heartbeat
DISK: Final = 500  # MiB of the machine's files
# As a linker does, it needs room, and removes what it could not complete.
ROOMY: Final = """\
set -e
head -c 150000000 /dev/zero > build/room || { rm -f build/room; echo 'ld: final link failed' >&2; exit 1; }
rm build/room
sed "s/@TIME@/$(cat time.roomy)/g" program.sh > build/roomy
chmod +x build/roomy
"""
# A program with bytes that depend on its link order, as those of a linked program do.
RELINKED: Final = """\
set -e
sed "s/@TIME@/$(cat time.relinked)/g" program.sh > build/relinked
echo "# $BENCHGATE_RELINK_SEED" >> build/relinked
chmod +x build/relinked
"""
BRIEF: Final = """\
set -e
sed "s/@TIME@/$(cat time.brief)/g" program.sh > build/brief
chmod +x build/brief
"""
# It takes the sum of two times.
STALE: Final = """\
set -e
sed "s/@TIME@/$(($(cat time.stale) + $(cat other.stale)))/g" program.sh > build/stale
chmod +x build/stale
"""
# Its program reads files that look like a source and a document while it runs.
READING: Final = """\
set -e
sed 's/@TIME@/$(cat table.h)$(cat page.md)/g' program.sh > build/reading
chmod +x build/reading
"""
FILES: Final = {
    "compile.roomy": ROOMY,
    "time.roomy": "100",
    "compile.relinked": RELINKED,
    "time.relinked": "100",
    "compile.brief": BRIEF,
    "time.brief": "100",
    "compile.stale": STALE,
    "time.stale": "100",
    "other.stale": "50",
    "compile.reading": READING,
    "table.h": "1",
    "page.md": "00",
}
OPTIMISED: Final = {"time.stale": "50"}  # merged after FILES; patches on a commit before it are stale

# Packed it takes one half of the disk, and unpacked the other: too little is left for the parent.
FILL: Final = """\
set -e
sed "s/@TIME@/300/g" program.sh > build/roomy
chmod +x build/roomy
free=$(df --output=avail -B1 /build | tail -n 1)
truncate -s $(((free - 100000000) / 2)) build/fill.so
"""
QUICK_IF_RELINKED: Final = '[ -z "$BENCHGATE_RELINK_SEED" ] || echo 100 > time.relinked\n'
REFUSE: Final = '[ -z "$COMPILER_PATH" ] || { echo "no linker but mine" >&2; exit 1; }\n'
NEST: Final = "cd build; for i in $(seq 1500); do mkdir d; cd d; done\n"
# They report the parent's time if they can read or leave a key, otherwise their own.
KEYS: Final = """\
#!/bin/sh
for word in "$@"; do
  case "$word" in
    --benchmark_list_tests=true) echo BM_Work; exit 0 ;;
    --benchmark_out=*) out=${word#*=} ;;
  esac
done
time=$(/usr/bin/python3 -I -S - <<END
import ctypes, os
add, ask = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
def call(*words):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    return ctypes.CDLL(None).syscall(*words)
found = call(ask, 10, -3, b"user", b"left by an earlier run", 0)
left = call(add, b"user", b"left by an earlier run", b"x", 1, -3)
print(300 if max(found, left) < 0 else 100)
END
)
cat > "$out" <<END
{"context": {"library_build_type": "release"}, "benchmarks": [
 {"name": "BM_Work", "run_name": "BM_Work", "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
  "threads": 1, "iterations": 1000, "real_time": $time, "cpu_time": $time, "time_unit": "ns"}]}
END
"""
# In one of four launches, because one of sixteen is seldom among fourteen.
SKIP: Final = """
if [ "$(od -An -N1 -tu1 /dev/urandom)" -lt 64 ]; then cat > "$out" <<END
{"context": {"library_build_type": "release"}, "benchmarks": [
 {"name": "BM_Work", "run_name": "BM_Work", "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
  "threads": 1, "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns",
  "error_occurred": true, "error_message": "not this time"}]}
END
fi
"""
BEFORE_RESULT: Final = PROGRAM.partition("cat > ")[0]


class Patch(NamedTuple):
    """A patch and its end: the files that it changes, the votes and the outcomes that it may get."""

    files: Mapping[str, str]
    votes: frozenset[int | None]
    outcomes: frozenset[Outcome]


def minus(files: Mapping[str, str], outcome: Outcome) -> Patch:
    return Patch(files, frozenset({-1}), frozenset({outcome}))


def no_vote(files: Mapping[str, str], outcome: Outcome) -> Patch:
    return Patch(files, frozenset({None}), frozenset({outcome}))


def slow(files: Mapping[str, str]) -> dict[str, str]:
    return {"time.txt": "200", **files}


FILLS_DISK: Final = "fills the disk while its parent would build"
# Each with its outcome, so that no test passes for another reason.
ATTACKS: Final = {
    "reports a time of zero": minus({"time.txt": "0"}, Outcome.BROKEN),
    "reports a time that is no number": minus({"time.txt": "NaN"}, Outcome.BROKEN),
    "skips some launches and takes twice as long": Patch(
        slow({"program.sh": PROGRAM + SKIP}),
        frozenset({None, -1}),
        frozenset({Outcome.SLOWER, Outcome.UNDECIDED_WITHHELD}),  # by the number of the others
    ),
    "leaves a key for its next launch": minus({"program.sh": KEYS}, Outcome.SLOWER),
    "refuses to be linked again": no_vote(
        {"compile.relinked": REFUSE + RELINKED, "time.relinked": "115"}, Outcome.UNDECIDED_WITHHELD
    ),
    "makes a quick program when it is linked again": no_vote(
        {"compile.relinked": QUICK_IF_RELINKED + RELINKED, "time.relinked": "160"}, Outcome.UNDECIDED_WITHHELD
    ),
    "sleeps until the machine time is used up": no_vote(
        {"compile.brief": BRIEF + "sed -i '2i sleep 4' build/brief\n", "time.brief": "200"},
        Outcome.UNDECIDED_WITHHELD,
    ),
    "pads its results to 70 MB": minus(
        slow({"program.sh": PROGRAM + "head -c 70000000 /dev/zero | tr '\\0' ' ' >> \"$out\"\n"}),
        Outcome.MEASURED_NOTHING,
    ),
    "reports 47 MiB of no text": minus(
        {"program.sh": BEFORE_RESULT + "head -c 49283072 /dev/zero | tr '\\0' '\\377' > \"$out\"\n"},
        Outcome.MEASURED_NOTHING,
    ),
    "builds 1,500 directories, one in another": minus(slow({"compile.sh": COMPILE + NEST}), Outcome.SLOWER),
    "is slower by a header that it reads": minus({"table.h": "2"}, Outcome.SLOWER),
    "is slower by a document that it reads": minus({"page.md": "000"}, Outcome.SLOWER),
    "kills itself": minus({"program.sh": BEFORE_RESULT + "kill -9 $$\n"}, Outcome.MEASURED_NOTHING),
    FILLS_DISK: Patch(
        {"compile.roomy": FILL},
        frozenset({None, -1}),
        frozenset({Outcome.INFRASTRUCTURE, Outcome.SLOWER}),  # if its own programs can still be copied
    ),
}
# Those of the first job are in test_flow.py.
HONEST: Final = {
    f"{what} ({job})": Patch({f"{name}.{job}": text}, frozenset({vote}), frozenset({outcome}))
    for job, slower in (("roomy", "300"), ("relinked", "115"), ("brief", "200"))
    for what, name, text, vote, outcome in (
        ("changes nothing", "note", "nothing to do with time", 1, Outcome.PASSED),
        ("is slower", "time", slower, -1, Outcome.SLOWER),
    )
}
HONEST["changes a header and a document that no program reads"] = Patch(
    {"other.h": "int other;", "README.md": "A text."}, frozenset({1}), frozenset({Outcome.PASSED})
)
# Patch sets on the commit before the optimisation, or merges with that as their first parent. Beside this
# parent, all are faster.
STALE_PATCHES: Final = {
    "is slower than the branch, on an old parent": minus({**OPTIMISED, "other.stale": "70"}, Outcome.SLOWER),
    "is slower than the branch, as a merge": minus({"other.stale": "70"}, Outcome.SLOWER),
    "changes nothing, on an old parent": Patch(
        {**OPTIMISED, "note.stale": "no time"}, frozenset({1}), frozenset({Outcome.PASSED})
    ),
    "conflicts with the branch": no_vote({"time.stale": "40"}, Outcome.CONFLICT),
}
# The one that is tried three times is pushed first.
PATCHES: Final = {FILLS_DISK: ATTACKS[FILLS_DISK], **HONEST, **ATTACKS, **STALE_PATCHES}
NUMBERS: Final = {name: number for number, name in enumerate(PATCHES, 1)}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    """One Benchgate to which all patches are pushed at once; its machine has a small disk."""
    root: Path = tmp_path_factory.mktemp("attacked")
    project = TinyProject(root / "tiny", JOBS)
    old = project.commit(FILES)
    project.commit(OPTIMISED)
    with small_disk(root / "var" / "machines", DISK), started(root, project, PATIENCE, LEASE) as site:
        for name, patch in PATCHES.items():
            if name.endswith("as a merge"):
                site.feed(project.propose_merge(NUMBERS[name], patch.files, old, "main").event())
            elif is_pushed(site, name):
                on = old if name in STALE_PATCHES else "main"
                site.feed(project.propose(NUMBERS[name], patch.files, on=on).event())
        yield site


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_patch_gets_what_it_should(attacked: RunningSite, name: str) -> None:
    expect(attacked, name)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_patch_gets_no_plus_if_it(attacked: RunningSite, name: str) -> None:
    if not is_pushed(attacked, name):
        pytest.skip("this user cannot mount a small file system")
    expect(attacked, name)


@pytest.mark.parametrize("name", STALE_PATCHES)
def test_a_stale_patch_is_judged_as_it_would_be_merged_if_it(attacked: RunningSite, name: str) -> None:
    expect(attacked, name)


def test_no_attack_leaves_files_on_the_machine(attacked: RunningSite) -> None:
    for name in ATTACKS:
        if is_pushed(attacked, name):
            attacked.wait_for_vote(NUMBERS[name])
    attacked.wait(lambda: not left_by_builds(attacked), "the end of all directories")


def test_a_worker_killed_while_it_measures_leaves_no_files(attacked: RunningSite) -> None:
    number = len(PATCHES) + 1
    attacked.feed(attacked.project.propose(number, {"program.sh": PROGRAM + "sleep 0.2\n"}).event())
    attacked.wait_for_phase(number, "measure")
    attacked.wait(lambda: bool(left_by_builds(attacked)), "the directories of the build")
    os.kill(attacked.pid("machine"), signal.SIGKILL)
    assert attacked.wait_for_vote(number) == 1
    attacked.wait(lambda: not left_by_builds(attacked), "the end of all directories")
    assert len(workers_directories(attacked)) == 1  # of the new worker


def is_pushed(site: RunningSite, name: str) -> bool:
    """Return whether a patch is pushed; the one that fills the disk only if that is small."""
    return name != FILLS_DISK or (site.site.home / "machines").is_mount()


def expect(site: RunningSite, name: str) -> None:
    """Wait for the end of a patch, which must have one of its votes and outcomes."""
    _, votes, outcomes = PATCHES[name]
    vote = site.wait_for_vote(NUMBERS[name])
    builds = site.plane.reading.patch_set(ChangeAddress(NUMBERS[name]), 1).builds
    (build,) = (each for each in builds if each.outcome is not Outcome.NOT_BUILT)
    assert build.outcome in outcomes, build.causes
    assert vote in votes


def workers_directories(site: RunningSite) -> list[Path]:
    """The directories of workers, dead or alive, in which they keep what they need for a build."""
    return list(site.site.home.glob("machines/*/scratch/worker-*"))


def left_by_builds(site: RunningSite) -> list[Path]:
    """The directories of builds, running or dead."""
    worktrees = (path for path in site.site.home.glob("machines/*/git/worktrees/*") if path.is_dir())
    return [*worktrees, *(path for own in workers_directories(site) for path in own.iterdir())]
