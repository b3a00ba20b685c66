"""Parse words as the command line does, without running the command."""

import click

from service.cli import benchgate


def parse_command(name: str, *words: str) -> dict[str, object]:
    """Return a command's parameters; raise UsageError for a command or option that does not exist."""
    _, command, _ = benchgate.resolve_command(click.Context(benchgate), [name])
    assert command is not None
    return command.make_context(name, list(words)).params
