"""Reads the words of `gerrit-dev` and does what they say."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from tools.gerrit_dev import process
from tools.gerrit_dev.cache import locked
from tools.gerrit_dev.place import made_place, place_at
from tools.gerrit_dev.project import Seed
from tools.gerrit_dev.releases import RELEASES
from tools.gerrit_dev.reporting import CannotServe, say
from tools.gerrit_dev.server import Wish, bring_up, fetch, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.gerrit_dev.place import Place

DESCRIPTION = """\
Brings up a real Gerrit on loopback, with accounts, a project and the label Verified.
`up` may be repeated: it keeps what is there and makes what is missing. Everything lies in DIR,
downloads in the cache directory of the person who runs it. There are no pages: what works is REST,
git over HTTP and SSH, and the SSH commands. For tests only: who reaches it can become anybody."""
NOT_RUNNING = 3  # what service scripts answer to `status` then
INTERRUPTED = 130  # as shells say it


def main(words: Sequence[str]) -> int:
    """Do it; the exit code."""
    asked = _parser().parse_args(words)
    try:
        return {"fetch": _fetch, "up": _up, "down": _down, "status": _status}[asked.command](asked)
    except CannotServe as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; `up` goes on from here, `down` ends what runs")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "gerrit-dev", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="see that what `up` needs is here; what can be had is downloaded")
    up = commands.add_parser("up", help="start it, and say in JSON where it is and who may sign in")
    down = commands.add_parser("down", help="stop it")
    status = commands.add_parser("status", help=f"what `up` said; exit code {NOT_RUNNING} if it does not run")
    for each in (up, down, status):
        each.add_argument("directory", metavar="DIR")
    up.add_argument("--http", type=int, default=0, metavar="PORT", help="default: as before, else a free one")
    up.add_argument("--ssh", type=int, default=0, metavar="PORT", help="likewise")
    up.add_argument("--project", help="default: as before, else demo")
    up.add_argument("--branch", help="default: as before, else main")
    up.add_argument("--seed", type=Seed.parsed, metavar="REPO[:REV]", help="what a new branch begins with")
    versions = [release.version for release in RELEASES]
    up.add_argument("--version", choices=versions, help="default: the newest that the Java here can run")
    down.add_argument("--wipe", action="store_true", help="and remove DIR")
    return parser


def _fetch(_: argparse.Namespace) -> int:
    _check_programs()
    fetch()
    return 0


def _up(asked: argparse.Namespace) -> int:
    _check_programs()
    if asked.seed is not None:
        asked.seed.commit()  # a mistake in it is better told before the start than after
    place = made_place(asked.directory)
    wish = Wish((asked.http, asked.ssh), asked.project, asked.branch, asked.seed, asked.version)
    with locked(place.lock):
        _answer(bring_up(place, wish))
    return 0


def _check_programs() -> None:
    for program in ("git", "ssh-keygen"):
        if shutil.which(program) is None:
            raise CannotServe(f"{program} is not installed")


def _down(asked: argparse.Namespace) -> int:
    place = _known(asked.directory)
    if place is None:
        return 0
    with locked(place.lock):
        pid = process.stop(place)
        say("it was not running" if pid is None else f"stopped process {pid}")
        if asked.wipe:
            place.wipe()
    return 0


def _known(directory: str) -> Place | None:
    place = place_at(directory)
    if place.record.exists():
        return place
    if place.directory.exists():
        raise CannotServe(f"{place.directory} is no directory of a server")
    say(f"{place.directory} is not there")
    return None


def _status(asked: argparse.Namespace) -> int:
    found = state(place_at(asked.directory))
    _answer(found)
    return 0 if found["running"] else NOT_RUNNING


def _answer(found: dict[str, Any]) -> None:
    json.dump(found, sys.stdout, indent=2)
    print()
