"""Parse and run the command line of `gerrit-dev`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from tools.gerrit_dev import process
from tools.gerrit_dev.cache import locked
from tools.gerrit_dev.place import make_place, place_at
from tools.gerrit_dev.project import Seed
from tools.gerrit_dev.releases import RELEASES
from tools.gerrit_dev.reporting import CannotServe, report
from tools.gerrit_dev.server import Request, bring_up, fetch, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.gerrit_dev.place import Place

DESCRIPTION = """\
Runs a real Gerrit on loopback, with accounts, a project and the label Verified.
`up` can be repeated: it keeps existing parts and creates missing ones. All files are in DIR, except
downloads, which are in the user's cache directory. There are no web pages: the REST API, git over HTTP
and SSH, and the SSH commands work. For tests only: anybody who can connect can sign in as any account."""
NOT_RUNNING = 3  # the usual exit code of `status` in service scripts
INTERRUPTED = 130  # a shell's exit code after SIGINT


def main(words: Sequence[str]) -> int:
    """Run the command, and return the exit code."""
    arguments = _parser().parse_args(words)
    try:
        return {"fetch": _fetch, "up": _up, "down": _down, "status": _status}[arguments.command](arguments)
    except CannotServe as error:
        report(str(error))
        return 1
    except KeyboardInterrupt:
        report("interrupted; `up` continues from here, `down` stops the server")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "gerrit-dev", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="check the requirements of `up`, and download its files")
    up = commands.add_parser("up", help="start the server, and print its addresses and accounts as JSON")
    down = commands.add_parser("down", help="stop the server")
    status = commands.add_parser(
        "status", help=f"print the output of `up` again; exit code {NOT_RUNNING} if the server does not run"
    )
    for command in (up, down, status):
        command.add_argument("directory", metavar="DIR")
    up.add_argument(
        "--http", type=int, default=0, metavar="PORT", help="default: the last port, or a free one"
    )
    up.add_argument(
        "--ssh", type=int, default=0, metavar="PORT", help="default: the last port, or a free one"
    )
    up.add_argument("--project", help="default: the last project, or demo")
    up.add_argument("--branch", help="default: the last branch, or main")
    up.add_argument("--seed", type=Seed.parsed, metavar="REPO[:REV]", help="the start of a new branch")
    versions = [release.version for release in RELEASES]
    up.add_argument("--version", choices=versions, help="default: the newest that the installed Java can run")
    down.add_argument("--wipe", action="store_true", help="also delete DIR")
    return parser


def _fetch(_: argparse.Namespace) -> int:
    _check_programs()
    fetch()
    return 0


def _up(arguments: argparse.Namespace) -> int:
    _check_programs()
    if arguments.seed is not None:
        arguments.seed.commit()  # report a mistake in it before the start
    place = make_place(arguments.directory)
    request = Request(
        (arguments.http, arguments.ssh),
        arguments.project,
        arguments.branch,
        arguments.seed,
        arguments.version,
    )
    with locked(place.lock):
        _print(bring_up(place, request))
    return 0


def _check_programs() -> None:
    for program in ("git", "ssh-keygen"):
        if shutil.which(program) is None:
            raise CannotServe(f"{program} is not installed")


def _down(arguments: argparse.Namespace) -> int:
    place = _known(arguments.directory)
    if place is None:
        return 0
    with locked(place.lock):
        pid = process.stop(place)
        report("the server was not running" if pid is None else f"stopped process {pid}")
        if arguments.wipe:
            place.wipe()
    return 0


def _known(directory: str) -> Place | None:
    place = place_at(directory)
    if place.record.exists():
        return place
    if place.directory.exists():
        raise CannotServe(f"{place.directory} is not the directory of a server")
    report(f"{place.directory} does not exist")
    return None


def _status(arguments: argparse.Namespace) -> int:
    server = state(place_at(arguments.directory))
    _print(server)
    return 0 if server["running"] else NOT_RUNNING


def _print(server: dict[str, Any]) -> None:
    json.dump(server, sys.stdout, indent=2)
    print()
