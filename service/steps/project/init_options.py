"""Search the options of a CMake project that bring benchmark programs: one alone before several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.cmake_files import OPTION_WORDS, benchmark_options
from service.domain.values.text import counted
from service.steps.project.init_inquiry import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.domain.project.starter.cmake_reply import CMakeReply
    from service.ports.building import Progress

# Configure runs; each takes seconds, or minutes if the project asks the compiler much.
_MOST: Final = 16
_MOST_ALONE: Final = 6  # of options with the same words


@dataclass(slots=True)
class OptionSearch:
    """A search in one build directory, where every option that is not wanted is switched off again.

    Args:
        configure: configures with these arguments, and raises ToolFailed if that fails.
        files: the CMake files of the sources by path.
        progress: gets a note about each configure run.

    ``tried`` are the arguments of each run, with the error if it failed. ``last`` is the reply to the last
    run that did not fail. ``others`` are the arguments that bring the most programs of other libraries.
    """

    configure: Callable[[Sequence[str]], CMakeReply]
    files: Mapping[str, str]
    progress: Progress
    tried: list[str] = field(default_factory=list)
    last: CMakeReply | None = None
    others: tuple[str, ...] = ()
    _names: dict[str, None] = field(default_factory=dict)
    _offered: frozenset[str] = frozenset()
    _done: set[frozenset[str]] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)
    _most: int = 0  # programs of other libraries

    def find(self, before: CMakeReply) -> tuple[str, ...]:
        """Return the arguments that bring programs, or more of them; none if no option does."""
        offered = self._new(before)
        self._most = len(before.others)
        if before.linking:
            return _switched_on(self._more((), before, offered))
        self._offered = frozenset(offered)
        gathered: tuple[str, ...] = ()
        for words in OPTION_WORDS:
            names = benchmark_options(self.files, before.cache, words)
            for name in names[:_MOST_ALONE]:
                if found := self._alone(name, names):
                    return _switched_on(found)
            gathered = tuple(
                dict.fromkeys((*gathered, *(each for each in names if each not in self._refused)))
            )
            if len(gathered) > 1 and names and (found := self._with_new(gathered)):
                return _switched_on(found)
        return ()

    def _alone(self, name: str, names: Sequence[str]) -> tuple[str, ...]:
        if not (found := self._with_new((name,))):
            return ()
        if others := [other for other in names if other not in self._names]:
            named = " ".join(_switched_on(others))
            self.progress.note(f"left off, because {' '.join(_switched_on(found))} brings programs: {named}")
        return found

    def _with_new(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Switch options on, and those for benchmarks that they bring; return them if there are programs."""
        reply = self._try(names)
        if reply is None:
            return ()
        new = self._new(reply)
        if reply.linking:
            return self._more(names, reply, new)
        for more in dict.fromkeys((*((each,) for each in new[:_MOST_ALONE]), new)):
            if more and (found := self._try((*names, *more))) and found.linking:
                return (*names, *more)
        return ()

    def _more(self, names: tuple[str, ...], reply: CMakeReply, new: Sequence[str]) -> tuple[str, ...]:
        """Add each option that brings further programs."""
        for name in new[:_MOST_ALONE]:
            found = self._try((*names, name))
            if found and found.linking > reply.linking:
                names, reply = (*names, name), found
        return names

    def _new(self, reply: CMakeReply) -> tuple[str, ...]:
        """Return options for benchmarks that were not there at first."""
        found = benchmark_options(self.files, reply.cache)
        return tuple(name for name in found if name not in self._names and name not in self._offered)

    def _try(self, names: Sequence[str]) -> CMakeReply | None:
        arguments = _switched_on(names)
        if len(self.tried) == _MOST or frozenset(names) in self._done:  # a name may have several words
            return None
        self._done.add(frozenset(names))
        self.tried.append(shown := " ".join(arguments))
        off = tuple(f"-D{name}=OFF" for name in self._names if name not in names)
        self._names |= dict.fromkeys(names)
        try:
            self.last = reply = self.configure((*arguments, *off))
        except ToolFailed as failed:
            self.progress.note(f"not used: {shown}: {failed}\n{failed.tail}")
            self.tried[-1] = f"{shown} ({failed.reason})"
            self._refused.update(names if len(names) == 1 else ())
            return None
        self.progress.note(f"tried {shown}: {counted(reply.linking, 'program')} with Google Benchmark")
        if len(reply.others) > self._most:
            self.others, self._most = arguments, len(reply.others)
        return reply


def _switched_on(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"-D{name}=ON" for name in names)
