"""Choose the files of /etc that a sandboxed program sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.building.sandbox.mounts import jdk_settings

if TYPE_CHECKING:
    from pathlib import Path


def test_only_the_settings_that_a_jdk_needs_to_start_are_shown(tmp_path: Path) -> None:
    for name in ("java-11-openjdk/security", "java-17-openjdk/security", "java-17-openjdk/management"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "java-17-openjdk/management/jmxremote.password").write_text("secret")

    shown = [path.removeprefix(f"{tmp_path}/") for path in jdk_settings(tmp_path)]

    assert shown == ["java-11-openjdk/security", "java-17-openjdk/security"]
