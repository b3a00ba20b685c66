"""``benchgate schema``: the JSON Schema of benchgate.yaml, for editors."""

from __future__ import annotations

import json

import click

from service.adapters.project.editor_schema import editor_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of benchgate.yaml.

    Save it in a file, and name the file in the first line of benchgate.yaml:

        # yaml-language-server: $schema=benchgate.schema.json
    """
    click.echo(json.dumps(editor_schema(), indent=2))
