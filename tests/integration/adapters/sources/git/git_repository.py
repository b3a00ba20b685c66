"""A user's repository to fetch from, created in a few milliseconds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Repository:
    """A user's repository, written with git's plumbing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(["git", "init", "--quiet", "--initial-branch=master", str(path)], check=True)

    def git(self, *arguments: str, given: bytes = b"") -> str:
        environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            **{f"GIT_{who}_NAME": "Alice Author" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "alice@example.com" for who in ("AUTHOR", "COMMITTER")},
        }
        argv = ["git", "-c", "safe.directory=*", "-C", str(self.path), *arguments]
        return subprocess.run(
            argv, check=True, env=environment, input=given, capture_output=True
        ).stdout.decode()

    def commit(
        self, files: Mapping[str, bytes | Path | str], *parents: str, ref: str = "refs/heads/master"
    ) -> str:
        """Create a commit with exactly these files; a Path is a symbolic link, a str a submodule's commit."""
        self.git("read-tree", "--empty")
        for name, content in files.items():
            if isinstance(content, str):
                self.git("update-index", "--add", "--cacheinfo", f"160000,{content},{name}")
                continue
            is_link = isinstance(content, Path)
            data = str(content).encode() if isinstance(content, Path) else content
            blob = self.git("hash-object", "-w", "--stdin", given=data).strip()
            mode = "120000" if is_link else "100644"
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")
        tree = self.git("write-tree").strip()
        commit = self.git(
            "commit-tree", tree, *(f"-p{parent}" for parent in parents), given=b"Text\n"
        ).strip()
        self.git("update-ref", ref, commit)
        return commit


def gitmodules(**urls: str) -> bytes:
    """Make a .gitmodules: each submodule has its name as its path."""
    return "".join(
        f'[submodule "{name}"]\n\tpath = {name}\n\turl = {url}\n' for name, url in urls.items()
    ).encode()
