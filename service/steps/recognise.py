"""Finds the suites for which both sides are the same program with the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.built import unchanged_suites
from service.domain.errors import BadInput
from service.domain.identity import RunKind, Side
from service.domain.source_paths import may_be_read
from service.steps.build_sides import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.domain.spec import BuildSpec
    from service.steps.build_sides import Workshop


def recognise(
    shop: Workshop, spec: BuildSpec, trees: Mapping[Side, Path], watch: Callable[[], None]
) -> frozenset[str]:
    """The names of those suites; a suite of which it cannot be told is not among them.

    A calibration compares a program with itself to learn how often that looks like a change: it has none.
    """
    if spec.kind is RunKind.CALIBRATION or not _has_equal_data(shop, spec):
        return frozenset()
    base = shop.inspector.inspect(trees[Side.BASE] / BUILD, watch)
    patch = shop.inspector.inspect(trees[Side.PATCH] / BUILD, watch)
    if base is None or patch is None:
        return frozenset()
    return unchanged_suites(spec.job.suites, base, patch)


def _has_equal_data(shop: Workshop, spec: BuildSpec) -> bool:
    """Whether a program finds the same files in both source trees, as far as programs read them."""
    if spec.base is None:
        return False
    try:
        changed = shop.source.changed_paths(spec.project, spec.base.commit, spec.patch.commit)
    except BadInput:
        return False  # more paths than can be looked at
    return not any(map(may_be_read, changed))
