"""The ``benchgate`` command: one file per command, imported when the command is called."""

from __future__ import annotations

import os
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

import click

from service.domain.values.errors import BadInput, BenchgateError

if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_OK: Final = 0
EXIT_SLOWER: Final = 1  # something would vote −1
EXIT_USAGE: Final = 2
EXIT_CANNOT: Final = 3  # could not measure, or a part of the service is away
EXIT_INTERRUPTED: Final = 130
EXIT_UNREAD: Final = 141  # a shell's code for a program that SIGPIPE stopped

# Name → module and the line that --help shows, so that help imports none of the modules.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "gate": (
            "local.gate",
            "Judge a commit on your own machine: build both sides, measure pairs, print verdicts.",
        ),
        "bisect": ("local.bisect", "Find the commit that made a benchmark slower, on your own machine."),
        "why": ("local.why", "Say what grew in a benchmark between two commits, on your own machine."),
        "compare": ("local.compare", "Compare recorded Google Benchmark JSON files."),
        "claims": ("local.claims", "List what a commit message claims of benchmarks."),
        "init": ("local.init", "Write a first benchgate.yaml, with comments that say what to edit."),
        "check": ("local.check", "List every error of a benchgate.yaml, as `path:line: key: message`."),
        "schema": ("local.schema", "Print the JSON Schema of benchgate.yaml, for editors."),
        "doctor": ("local.doctor", "Report what on this machine adds measurement noise, and how to fix it."),
        "mcp": ("local.mcp", "Let a language model read changes, regressions and trends (MCP server)."),
        "demo": ("local.demo", "Explain how to start the demo."),
        "up": ("services.up", "Start everything on this machine: database, queue, web, workers, schedule."),
        "serve": ("services.serve", "Serve webhooks, API and pages."),
        "worker": ("services.worker", "Run one worker: of the control plane or of a pool of machines."),
        "schedule": ("services.schedule", "Publish tasks as they are stored, and recover lost ones."),
        "listen": ("services.listen", "Store the events of Gerrit's event stream."),
        "migrate": ("services.migrate", "Update the database schema."),
        "report": ("operating.report", "Report the result of a build that another CI ran."),
        "token": ("operating.token", "Create, list and revoke API tokens."),
        "audit": ("operating.audit", "Verify the log of overrides, tokens, refused sign-ins and settings."),
        "machine": ("operating.machine", "Enroll and list machines; drain hosts, and resume them."),
        "prune": ("operating.prune", "Delete what was kept long enough, or say what would go."),
        "backup": ("operating.backup", "Copy all state into a directory, while everything runs."),
        "restore": ("operating.restore", "Make a site from a backup."),
        "backfill": ("operating.backfill", "Measure older commits of a branch while machines are idle."),
        "import": (
            "operating.import_values",
            "Import Google Benchmark JSON of earlier commits.",
        ),
        "reconcile": ("operating.reconcile", "Check every open change once, now."),
        "retry": ("operating.retry", "List steps that failed, and retry them."),
        "replay": ("operating.replay", "Feed recorded Gerrit events to a running Benchgate."),
    }
)
_GROUPS: Final = {"local": "On your machine", "services": "For the service", "operating": "Operating"}


class _Unread(Exception):
    """The reader of the output has closed the pipe."""


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _Unread from None  # click would exit with 1, which means "slower"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"service.cli.{_COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for folder, title in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, text) for name, (at, text) in _COMMANDS.items() if at.startswith(f"{folder}.")]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = get_close_matches(args[0], _COMMANDS, n=1)
        if args[0] not in _COMMANDS and near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="benchgate")
def benchgate() -> None:
    """Performance CI for C++ projects that are reviewed on Gerrit.

    Try `benchgate gate` in a repository with a benchgate.yaml: it builds HEAD^ and HEAD, runs their Google
    Benchmark programs in interleaved pairs, and prints what got slower, by how much and with what confidence.
    `benchgate init` writes a first benchgate.yaml.

    Results go to stdout, progress to stderr. Exit codes: 0 nothing would vote -1, 1 something would,
    2 wrong usage or input, 3 could not measure, 130 interrupted, 141 stdout was closed early.
    """


def main() -> None:
    """Run the command line."""
    run(benchgate)


def run(command: click.Command) -> NoReturn:
    """Run a command and exit; turn each error that is raised on purpose into one line and an exit code."""
    try:
        code = command.main(standalone_mode=False)
        # click returns the code of ctx.exit() and, without one, what the command returned.
        sys.exit(code if isinstance(code, int) else EXIT_OK)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except BenchgateError as error:
        click.echo(f"benchgate: {error}", err=True)
        sys.exit(EXIT_USAGE if isinstance(error, BadInput) else EXIT_CANNOT)
    except _Unread:
        # Python flushes both streams at exit; that must not fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())
        sys.exit(EXIT_UNREAD)
    except Exception:  # noqa: BLE001 - a bug in Benchgate must not look like "slower", which is exit code 1
        traceback.print_exc()
        click.echo("benchgate: this is a bug in Benchgate; please report it with the lines above", err=True)
        sys.exit(EXIT_CANNOT)
