"""Build the image on a base from Debian's packages, and stand-ins for the images of PostgreSQL and Valkey."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.vm.image import SUITE, apt_options, apt_sources

ROOT: Final = Path(__file__).parents[2]
BASE, IMAGE, STAND_IN = "benchgate-test-base", "benchgate-test", "benchgate-test-stand-in"
_AUTHORITIES: Final = "etc/ssl/host.crt"


def docker(*words: str) -> str:
    """Run docker without BuildKit, which Debian lacks, and return what it printed."""
    environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
    command = ["docker", *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def build_images() -> int:
    """Build the image from the repository's Dockerfile, and the stand-ins; return the image's size in bytes.

    Raises:
        CalledProcessError: a build failed; it printed the reason.
    """
    with TemporaryDirectory() as folder:
        _make_base(Path(folder))
    proxies = [f"--build-arg={scheme}_proxy" for scheme in ("http", "https", "no")]  # which no image keeps
    for image, context in ((STAND_IN, Path(__file__).parent), (IMAGE, ROOT)):
        docker("build", f"--build-arg=BASE={BASE}", *proxies, f"--tag={image}", str(context))
    return int(docker("image", "inspect", "--format={{.Size}}", IMAGE))


def _make_base(folder: Path) -> None:
    """Make what `debian:bookworm-slim` is, with this machine's settings for apt and pip."""
    options, pip, tar = folder / "apt", folder / "pip.conf", str(folder / "base.tar")
    public = [line for line in apt_options().splitlines() if "@" not in line]  # no password of a proxy
    options.write_text("\n".join(public), encoding="utf-8")
    pip.write_text(f"[global]\ncert = /{_AUTHORITIES}\n", encoding="utf-8")
    copies = (("/etc/ssl/certs/ca-certificates.crt", _AUTHORITIES), (pip, "etc/pip.conf"))
    hooks = [f'--customize-hook=cp {source} "$1/{target}"' for source, target in copies]
    kind = ("--mode=root", "--variant=minbase", "--include=ca-certificates", f"--aptopt={options}")
    sources = [str(path) for path in apt_sources()]
    subprocess.run(["mmdebstrap", *kind, *hooks, SUITE, tar, *sources], check=True)  # noqa: S603, S607
    docker("import", tar, BASE)
