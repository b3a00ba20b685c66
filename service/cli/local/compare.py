"""``benchgate compare``: verdicts from recorded result files."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from service.cli import EXIT_OK, EXIT_SLOWER
from service.cli.local.tables import print_comparisons, print_reasons, print_summary, to_json
from service.domain.project.policy import Policy
from service.domain.runs.build_outcome import judge
from service.domain.runs.vote import CONSEQUENCES, Counts
from service.domain.values.errors import BadInput
from service.domain.wording.measured_causes import WITHOUT_HISTORY
from service.steps.verdict.compare_files import ResultFile, compare_files

_FILES = click.Path(exists=True, dir_okay=False, path_type=Path)


class _FilesOfSides(click.Command):
    """Let one --base or --patch take several files: ``--base a1.json a2.json``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeated: list[str] = []
        side = ""
        for argument in args:
            if argument.startswith("-"):
                side = argument if argument in {"--base", "--patch"} else ""
                repeated.extend(() if side else (argument,))
            else:
                repeated.extend((side, argument) if side else (argument,))
        return super().parse_args(ctx, repeated)


@click.command(cls=_FilesOfSides)
@click.option("--base", multiple=True, type=_FILES, help="Result files of the base.")
@click.option("--patch", multiple=True, type=_FILES, help="Result files of the patch.")
@click.option(
    "--metric", "metrics", multiple=True, help="Compare this metric instead of each benchmark's clock."
)
@click.option("--sequential", is_flag=True, help="Stop each benchmark at the pair that decides it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("files", nargs=-1, type=_FILES, metavar="[BASE_FILE PATCH_FILE]")
@click.pass_context
def command(
    ctx: click.Context,
    base: tuple[Path, ...],
    patch: tuple[Path, ...],
    metrics: tuple[str, ...],
    files: tuple[Path, ...],
    *,
    sequential: bool,
    as_json: bool,
) -> None:
    """Compare recorded Google Benchmark JSON files.

    File k of base and file k of patch were run next to each other and make pair k: alternate the two
    programs, a dozen launches a side or more.

        benchgate compare --base a1.json a2.json ... --patch b1.json b2.json ...

    Two files without options are the base and the patch, in this order. With one file per side,
    only counters can be judged, and only as equal. If the dates in the files show that one side ran
    completely before the other, times stay undecided: run the two programs in turn.

    Exit code 0: nothing that would vote -1; 1: something would; 2: wrong usage or files that cannot be
    compared.
    """
    base, patch = _sides(base, patch, files)
    gc.disable()  # everything read stays until the end, and collections took a third of the time
    policy = Policy()
    found = compare_files(_read(base), _read(patch), policy, metrics, is_sequential=sequential)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    judgement = judge(found.comparisons, policy)
    fails = CONSEQUENCES[judgement.outcome].counts is Counts.FAIL
    if as_json:
        click.echo(to_json(found.comparisons, outcome=str(judgement.outcome), warnings=list(found.warnings)))
    else:
        print_comparisons(found.comparisons)
        print_reasons(found.comparisons)
        print_summary(found.comparisons, fails=fails)
    click.echo(WITHOUT_HISTORY, err=True)
    ctx.exit(EXIT_SLOWER if fails else EXIT_OK)


def _sides(
    base: tuple[Path, ...], patch: tuple[Path, ...], files: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the files of base and patch: those of the options, or two files without options."""
    if files and (base or patch):
        raise click.UsageError(f"say which side {files[0]} belongs to: --base FILE... --patch FILE...")
    if len(files) == 2:  # noqa: PLR2004 - one of each side
        return files[:1], files[1:]
    if files:
        raise click.UsageError(
            "give two files, the base's and the patch's, or name the sides: "
            f"--base FILE... --patch FILE... (got {len(files)})"
        )
    for option, given in (("--base", base), ("--patch", patch)):
        if not given:
            raise click.UsageError(f"there is no file of one side: add {option} FILE...")
    return base, patch


def _read(paths: tuple[Path, ...]) -> list[ResultFile]:
    try:
        return [ResultFile(str(path), path.read_bytes()) for path in paths]
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(error.filename)) from None
