"""Declare how the API answers causes of slower benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field

from service.domain.verdict.explanation.causes import Kind  # noqa: TC001 - pydantic reads the annotation

if TYPE_CHECKING:
    from service.domain.verdict.explanation.explanation import Explanation


_NEW: Final = Field(description="a function that only the patch has and that it calls, if that grew most")


class CountedCause(BaseModel):
    """Something that grew, per iteration of each side, and the function in which it grew most."""

    kind: Kind
    function: str
    base: float
    patch: float
    new_callee: Annotated[str, _NEW]


class GrownFunction(BaseModel):
    """A function, and the growth of its time per iteration as a share of the parent's iteration."""

    function: str
    growth: Annotated[float, Field(examples=[0.098])]
    low: Annotated[float, Field(description="lower end of the growth's 95 % interval")]
    high: Annotated[float, Field(description="upper end of the growth's 95 % interval")]
    new_callee: Annotated[str, _NEW]


class SampledStack(BaseModel):
    """Time spent in a function with its callers, per iteration, as shares of the parent's iteration."""

    frames: Annotated[tuple[str, ...], Field(description="functions, the outermost first")]
    base: float
    patch: float


class ComparedInstruction(BaseModel):
    """An instruction of one or both sides, and how often an iteration executes it.

    A target ``#3`` is the third of the list.
    """

    base: Annotated[str | None, Field(description="null: only the patch has it")]
    patch: Annotated[str | None, Field(description="null: only the parent has it")]
    base_rate: float
    patch_rate: float
    path: Annotated[str, Field(description="in the repository; empty: not known")]
    line: Annotated[int, Field(description="of the patch; of the parent if only the parent has it")]


class GrownLine(BaseModel):
    """A line of the patch, and what an iteration of each side spends there, in the counted events."""

    path: str
    line: int
    base: float
    patch: float


class ComparedCode(BaseModel):
    """The code of the function that grew most."""

    function: str
    counted: Annotated[str, Field(description="the events of the lines", examples=["instructions"])]
    lines: Annotated[tuple[GrownLine, ...], Field(description="the largest growth first")]
    rows: Annotated[
        tuple[ComparedInstruction, ...] | None,
        Field(description="null unless the request asks for this item's"),
    ] = None


class ExplainedBenchmark(BaseModel):
    """Causes of the slow-down of a benchmark, as far as they are known."""

    suite: str
    benchmark: str
    slowdown: Annotated[float, Field(description="growth of its time", examples=[0.12])]
    causes: Annotated[tuple[CountedCause, ...], Field(description="the most important first")]
    sampled: Annotated[float, Field(description="growth of its time in launches that took samples")]
    parts: Annotated[tuple[GrownFunction, ...], Field(description="the largest growth first")]
    stacks: Annotated[
        tuple[SampledStack, ...] | None, Field(description="null unless the request asks for this item's")
    ]
    obstacle: Annotated[str, Field(description="why it is not explained, or not completely")]
    assembly: Annotated[ComparedCode | None, Field(description="null if nothing was disassembled")] = None

    @staticmethod
    def of(found: Explanation, *, is_whole: bool) -> ExplainedBenchmark:
        """Make the item of an explained benchmark; a whole one has its stacks and instructions."""
        item = {**found.to_mapping(), "stacks": None}
        if is_whole:
            item["stacks"] = [each._asdict() for each in found.stacks]
            if found.assembly:
                item["assembly"]["rows"] = [each._asdict() for each in found.assembly.rows]
        return ExplainedBenchmark.model_validate(item)


class Explanations(BaseModel):
    """The explained benchmarks of a build."""

    items: tuple[ExplainedBenchmark, ...]
    problem: Annotated[str, Field(description="why they cannot be read; empty: they can")]
