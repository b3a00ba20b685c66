"""Make the disk of a virtual machine: Debian's kernel, systemd and what the sandbox needs.

The packages come from where apt of this machine gets them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
SUITE: Final = "bookworm"  # its Python, 3.11, can use the packages of a virtual environment of 3.11
PACKAGES: Final = (
    *("systemd", "systemd-sysv", "udev", "dbus", "kmod", "linux-image-amd64", "initramfs-tools"),
    *("python3", "bubblewrap", "util-linux", "procps", "git", "gcc", "libc6-dev"),
)
SETUP: Final = (
    'cp "$HERE/vm-test.service" "$1/etc/systemd/system/"',
    'cp "$HERE/boot.sh" "$1/usr/local/bin/vm-test"',
    'chroot "$1" useradd --system benchgate-worker',
    'chroot "$1" systemctl enable vm-test.service',
    # Compiling Python's library takes minutes where the processor is emulated.
    'chroot "$1" env PYTHONPYCACHEPREFIX=/var/pycache python3 -m compileall -q /usr/lib/python3.11',
)
DISK_SIZE: Final = "3G"


@dataclass(frozen=True)
class Image:
    """A disk, and the kernel with which it boots."""

    disk: Path
    kernel: Path
    initial: Path  # the file system in memory that has the drivers of the disk


def image_in(cache: Path) -> Image:
    """Return the image, and make it if it is not in ``cache``; that takes about two minutes.

    Raises:
        SystemExit: the user is not root, who alone may own the files of the disk.
        CalledProcessError: apt cannot get the packages.
    """
    files = [(HERE / name).read_text(encoding="utf-8") for name in ("boot.sh", "vm-test.service")]
    made_of = repr((SUITE, PACKAGES, SETUP, DISK_SIZE, files))
    place = cache / f"image-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    if not place.exists():
        if os.geteuid() != 0:
            raise SystemExit("the disk's files belong to root: run `make vm-test` as root")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _make(Path(folder))
            (Path(folder) / "done").rename(place)
    return Image(place / "disk", place / "kernel", place / "initial")


def _make(folder: Path) -> None:
    root, done = folder / "root", folder / "done"
    done.mkdir()
    (folder / "apt").write_text(apt_options(), encoding="utf-8")
    _run(
        "mmdebstrap",
        *("--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}"),
        f"--aptopt={folder / 'apt'}",
        *(f"--customize-hook={line}" for line in SETUP),
        *(SUITE, str(root)),
        *(str(path) for path in apt_sources()),
    )
    for kind, name in (("vmlinuz", "kernel"), ("initrd.img", "initial")):
        [file] = (root / "boot").glob(f"{kind}-*")
        shutil.copy(file, done / name)
    _run("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(done / "disk"), DISK_SIZE)


def apt_options() -> str:
    """Return the settings with which apt of this machine reaches its servers."""
    return _run("apt-config", "dump", "Acquire")


def apt_sources() -> list[Path]:
    """List the files from which apt of this machine knows its servers; only they may name a mirror."""
    top = Path("/etc/apt")
    files = [top / "sources.list", *sorted((top / "sources.list.d").glob("*"))]
    return [
        path
        for path in files
        if path.suffix in {".list", ".sources"} and path.is_file() and SUITE in path.read_text()
    ]


def _run(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed programs
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "HERE": str(HERE)}
    )
    return done.stdout
