"""Route the page that compares two commits of a branch, or two patch sets."""

from __future__ import annotations

from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from dashboards.addresses import ChosenRows  # noqa: TC001 - FastAPI reads the annotation
from dashboards.rendering import NO_URLS, Pages
from dashboards.verdict.build_tables import tables_of, waived
from dashboards.verdict.comparison_table import MOST_ROWS
from service.domain.trunk.reference import WAYS
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import RunKind
from service.domain.values.search import parse_words
from service.domain.verdict.calibration.evidence import SESSION_PAIRS
from service.domain.verdict.comparison.combined import mean_speed
from service.domain.verdict.inference.estimate import MeasuredRatio
from service.domain.verdict.inference.verdict import Verdict
from service.ports.commits import BranchName, CommitPair, ComparedPatchSet
from service.steps.trunk.compare_references import compare_references

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dashboards.addresses import RowChoice
    from service.domain.verdict.comparison.combined import MeanSpeed
    from service.ports.commits import CommitReading, PatchSetPair
    from service.ports.reading import Reading
    from service.ports.runs.shown import Build
    from service.ports.verdict import Comparison
    from service.steps.runs.check_health import HealthCheck

    FormOf = Callable[[Request, CommitPair], object]

_LISTED: Final = 100
_KINDS: Final = MappingProxyType(
    {
        RunKind.POST_SUBMIT: "the run of the later commit",
        RunKind.ANCHOR: "distant commits",
        RunKind.LONGER: "measured longer",
    }
)
_FIELDS: Final = MappingProxyType({"base": "From: ", "patch": "To: "})
# What the page has before anything is compared.
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "ways": WAYS,
        "verdicts": tuple(Verdict),
        "pairs": SESSION_PAIRS,
        "kinds": _KINDS,
        "pair": None,
        "run": None,
        "builds": (),
        "beside": None,
        "problem": "",
    }
)
_SEE_OTHER: Final = 303
Name = Annotated[str, Query(max_length=300)]
RunId = Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)]


def create_compare(
    commits_of: Callable[[Request], CommitReading],
    reading_of: Callable[[Request], Reading],
    health: HealthCheck,
    form_of: FormOf,
    review_urls: Mapping[str, str] = NO_URLS,
) -> APIRouter:
    """Create the route of the page.

    Args:
        commits_of: returns the commits that the caller of a request may see.
        reading_of: returns the changes and runs that the caller may see.
        health: the check whose problems every page shows.
        form_of: returns the form that lets the caller ask for a measurement.
        review_urls: the addresses of the Gerrits by instance.
    """
    pages = Pages(health, review_urls)
    router = APIRouter(include_in_schema=False)

    @router.get("/compare")
    def compare(
        request: Request,
        rows: ChosenRows,
        instance: Name = "",
        project: Name = "",
        branch: Name = "",
        base: Name = "",
        patch: Name = "",
        run: RunId = None,
    ) -> Response:
        commits = commits_of(request)
        branches = commits.branches()
        chosen = branches[0] if not branch and len(branches) == 1 else BranchName(instance, project, branch)
        kept = {**asdict(chosen), "base": base, "patch": patch}
        values: dict[str, Any] = {**_NOTHING, **kept, "kept": kept}
        try:
            if base and patch:
                reading = reading_of(request)
                found = compare_references(commits, reading, chosen, base, patch)
                if isinstance(found, CommitPair):
                    values |= {"pair": found, "form": form_of(request, found)}
                    values |= _measured(reading, found, rows, run, kept)
                elif page := _own_page(found):
                    return RedirectResponse(page, _SEE_OTHER)
                else:
                    values |= _quotients(found, rows)
        except (BadInput, NotFound) as error:  # the form stays, with what was written
            values["status"], values["problem"] = _problem(error)
        return pages.render(
            request,
            "compare.html",
            branches=branches,
            chosen=chosen,
            commits=commits.commits(chosen, _LISTED) if chosen.branch else (),
            **values,
        )

    return router


def _problem(error: BadInput | NotFound) -> tuple[int, str]:
    """Return the status of an answer to what was written, and what is wrong with it."""
    if isinstance(error, BadInput):
        return 400, f"{_FIELDS.get(error.where, '')}{error.what}"
    return 404, str(error)


def _own_page(found: PatchSetPair) -> str:
    """Return the page of a patch set that is compared with its own parent; empty for any others."""
    ends = [each for each in (found.base, found.patch) if isinstance(each, ComparedPatchSet)]
    if found.parent is None or len(ends) != 1:
        return ""
    return f"/changes/{quote(ends[0].change, safe='')}/{ends[0].patch_set}"


def _quotients(found: PatchSetPair, chosen: RowChoice) -> dict[str, Any]:
    words = parse_words(chosen.q)
    named = ((each, each.patch) for each in found.rows)
    matching = [each for each, row in named if words.matches(f"{row.benchmark} {row.metric} {row.suite}")]
    ends = [each for each in (found.base, found.patch) if isinstance(each, ComparedPatchSet)]
    changes = {each.change for each in ends}
    return {
        "beside": found,
        "patch_sets": ends,
        "rows": matching[:MOST_ROWS],
        "hidden_rows": len(matching[MOST_ROWS:]),
        "q": chosen.q,
        "same_change": ends[0].change if len(changes) < len(ends) else "",
    }


def _measured(
    reading: Reading, pair: CommitPair, chosen: RowChoice, run_id: int | None, kept: Mapping[str, object]
) -> dict[str, Any]:
    """Return the tables of a run that measured the two together, and the means above them."""
    run = pair.chosen_run(run_id)
    if run is None:
        return {}
    try:
        builds = waived(reading.run(run.run_id).builds)
    except NotFound:  # a change on a visible branch may itself be hidden
        return {"run": run, "is_hidden": True, "means": []}
    tables = tables_of(reading, builds, chosen, pair.base.revision, {**kept, "run": run_id})
    return tables | {"run": run, "is_hidden": False, "means": list(_means(tables["compared"]))}


def _means(
    compared: Sequence[tuple[Build, str, Sequence[Comparison]]],
) -> Iterator[tuple[str, MeanSpeed, MeasuredRatio]]:
    """Yield for each pool the mean of its benchmarks, as numbers and as people read it."""
    for pool in dict.fromkeys(build.pool for build, _, _ in compared):
        if found := mean_speed(rows for build, _, rows in compared if build.pool == pool):
            mean = found.mean
            yield pool, found, MeasuredRatio(ratio=mean.ratio, low=mean.low, high=mean.high)
