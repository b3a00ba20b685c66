"""Refuse directories of a machine that builds must not see."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from service.domain.building.compiler_cache import mounts_of
from service.domain.machines.mounts import REFUSED, require_allowed
from service.domain.project.dependencies import DIRECTORY
from service.domain.values.errors import BadInput

ADVICE = "; list directories with nothing but tool chains and libraries, such as /opt/gcc-13"
STATE = {"/opt/benchgate/var": "which has data of Benchgate"}
SERVICE = Path(__file__).parents[4] / "service"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "/ contains /etc, which no program of a build may see"),
        ("/etc", "/etc is a directory which no program of a build may see"),
        ("/home/ann/gcc", "/home/ann/gcc is within /home, which no program of a build may see"),
        ("/root", "/root is a directory which no program of a build may see"),
        ("/var/lib/gcc", "/var/lib/gcc is within /var, which no program of a build may see"),
        ("/run/docker", "/run/docker is within /run, which no program of a build may see"),
        ("/tmp", "/tmp is a directory which no program of a build may see"),  # noqa: S108
        ("/proc", "/proc is a directory of which each sandbox has views of its own"),
        ("/sys/fs", "/sys/fs is within /sys, of which each sandbox has views of its own"),
        ("/dev/dri", "/dev/dri is within /dev, of which each sandbox has views of its own"),
        ("/usr", "/usr is a directory which each sandbox shows already"),
        ("/usr/local/cuda", "/usr/local/cuda is within /usr, which each sandbox shows already"),
        ("/lib64", "/lib64 is a directory which each sandbox shows already"),
        ("/src", "/src is a directory where sandboxes show the files of a build"),
        ("/opt", "/opt contains /opt/benchgate/var, which has data of Benchgate"),
        ("/opt/benchgate", "/opt/benchgate contains /opt/benchgate/var, which has data of Benchgate"),
        ("/opt/benchgate/var", "/opt/benchgate/var is a directory which has data of Benchgate"),
        (
            "/opt/benchgate/var/x",
            "/opt/benchgate/var/x is within /opt/benchgate/var, which has data of Benchgate",
        ),
    ],
)
def test_a_refusal_names_the_setting_the_path_and_the_reason(path: str, reason: str) -> None:
    with pytest.raises(BadInput) as refused:
        require_allowed(path, {**REFUSED, **STATE})
    assert str(refused.value) == f"BENCHGATE_MOUNTS: {reason}{ADVICE}"


@pytest.mark.parametrize(
    "path",
    ["/opt/rh/gcc-toolset-13", "/opt/intel", "/nix/store", "/opt/benchgate-tools", "/srcs", "/homes/gcc"],
)
def test_tool_chains_elsewhere_are_allowed(path: str) -> None:
    require_allowed(path, {**REFUSED, **STATE})


def test_each_place_where_a_sandbox_shows_files_of_a_build_is_refused() -> None:
    """A directory of the machine there would be hidden from some commands and not from others."""
    literal = {
        place
        for path in SERVICE.rglob("*.py")
        for place in re.findall(r'Mount\([^\n]*?, "(/[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    caches = {mount.target for mount in mounts_of(PurePosixPath("/x"), PurePosixPath("/y"), is_writable=True)}
    places = literal | caches | {DIRECTORY}

    assert {"/src", "/build", "/out", "/linkers"} <= literal
    assert {place for place in places if place not in REFUSED} == set()
