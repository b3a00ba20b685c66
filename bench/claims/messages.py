"""Make random commit messages: without tables, with a known table, and with a damaged one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.claims.find import MAX_CHARACTERS, MAX_LINES

if TYPE_CHECKING:
    from random import Random

_PROSE: Final = (
    "the parser now avoids a copy of each row before it hashes keys faster slower than main after old new",
    "timeouts of 5 ms 10 ns 3% 12 % from 3 us to 4 us benchmark Benchmark: BM baseline Before: After: cache,",
    "run (see #1234) MB-1234 src/parse.cc:12 https://example.com/a?b=c Time CPU Iterations | -- ** ` > nan",
)
_WORDS: Final = " ".join(_PROSE).split(" ")
_LINES: Final = (
    " src/parse.cc | 12 ++++++------",
    " 2 files changed, 9 insertions(+), 6 deletions(-)",
    "Robin Doe (12):",
    "00000000  42 4d 5f 41 2f 31 20 33  2e 31 20 6e 73 0a 00 00  |BM_A/1 3.1 ns...|",
    "     8.59 s   45.3%  55.00 ms         Producer::next()",
    "   632 │53e7e0:   lock   addl $0x1,(%rdx)",
    "sum 512     time:   [535.66 ns 536.11 ns 536.57 ns]",
    "real\t0m17.636s",
    "2020-06-11 14:53:18 INFO Task ran for 24.0 ns  on thread 3",
    "#0  0x00007f in parse (n=12) at parse.cc:12",
    "| Branch | Average Time |",
    "| `main` | 2157.4 ms |",
    "@@ -1,3 +1,3 @@",
    "    for (auto& row : rows) sum += row.time;  // 5 ns  or so",
    "Signed-off-by: Robin Doe <robin@example.com>",
    "Change-Id: I0184efb6d960df6b5ff60ff29386927aca046b6e",
    "",
    "",
)
# What makes a sentence about something else, and what it would claim without that.
_TRAPS: Final = (
    "On ARM, {}.",
    "{} with 8 threads.",
    "{} if a row is empty.",
    "It helps, but not here: {}.",
    "PopTime of {}.",
    "BM_B and {}.",
    "{} compared to 2.4.",
    "{} in the last release.",
    "{} at most.",
    "- Skylake:\n- {}.",
    "> {}.",
    "```\n{}\n```",
    "| {} |",
    "src/{}.",
    "We expect that {}.",
)
_CHANGES: Final = (
    "BM_A/1 goes from 4 us to 3 us",
    "`BM_A`: 4 us -> 3 us",
    "CPU time of Foo/64 is reduced by 12 %",
)
_SIDES: Final = (
    ("Before:", "After:"),
    ("[BEFORE]", "[AFTER]"),
    ("Old:", "New:"),
    ("Baseline", "With this patch"),
)
_NOISE: Final = "\u202e\u200b\x1b[31m\x00\t µ…—│٣１e400NaN-.|>=#*`"


@dataclass(frozen=True, slots=True)
class Planted:
    """A message and what it claims: benchmark and metric → old and new value."""

    message: str
    claims: dict[tuple[str, str], tuple[float, float]]


def without_end(random: Random) -> str:
    """Make the longest message that is read: one part again and again."""
    parts = (
        "BM_A ",
        "| ",
        "> ",
        "-\n",
        "a=1 ",
        "from 1 ns to ",
        "\x1b]",
        "(p=",
        "<",
        "\t",
        "12 ",
        " ± 3%",
        "BM_A/",
        "ns ",
        "BM_A/1 goes from 4 us to 3 us. ",
        "- BM_A: 4 us -> 3 us\n",
        "Foo/Foo",
        "Aa",
        "1",
    )
    rows = (
        "BM_A/1   3 ns   3 ns   7 a=1 b=2k\n",
        "| a | b |\n",
        "[ OK ] A.B (1 ms)\n",
        "BM_A\n3 ns 3 ns 7\n",
        "Before:\n",
    )
    heads = (
        "",
        "Subject\n\nBM_A: 4 us -> 3 us. ",
        "Benchmark   Time   CPU   Iterations\n",
        "| Benchmark | Before | After |\n",
    )
    message = random.choice(heads) + random.choice((*parts, *rows)) * MAX_CHARACTERS
    return "\n".join(message[:MAX_CHARACTERS].split("\n")[:MAX_LINES])


def without_claims(random: Random) -> str:
    """Make a message of prose and of lines that only look like tables."""
    lines = []
    for _ in range(random.randrange(60)):
        few = random.choices(_WORDS, k=random.randrange(1, 14))
        lines.append(random.choice(_LINES) if random.random() < 0.5 else " ".join(few))
        if random.random() < 0.1:
            lines += ["", random.choice(_TRAPS).format(random.choice(_CHANGES)), ""]
    if random.random() < 0.05:
        lines.append(random.choice("-= |>`*#[(\t") * random.randrange(10_000))
    return "\n".join(lines)


def with_table(random: Random) -> Planted:
    """Make a message with a table or sentences in a random form, between prose."""
    names = [f"BM_{random.choice('ABCDE')}{k}/{8**k}/threads:{2**k}" for k in range(random.randrange(1, 12))]
    values = {name: [random.randrange(1, 10**7) for _ in range(4)] for name in names}
    form = random.choice((_console, _markdown, _benchstat, _gtest, _sentences))
    lines, has_cpu = form(random, values)
    indent, quote = random.choice(("", "", "    ")), random.choice(("", "", "", "> "))
    if form is _sentences:
        indent = quote = ""
    body = [f"{quote}{indent}{line}".rstrip() for line in lines]
    claims: dict[tuple[str, str], tuple[float, float]] = {}
    for name, (old, old_cpu, new, new_cpu) in values.items():
        claims[name, "real_time"] = float(old), float(new)
        if has_cpu:
            claims[name, "cpu_time"] = float(old_cpu), float(new_cpu)
    message = "\n".join(
        ["Parse: avoid a copy", "", "It was slow.", "", *body, "", "That is all.", "", _LINES[-4]]
    )
    return Planted(message, claims)


def _console(random: Random, values: dict[str, list[int]]) -> tuple[list[str], bool]:
    heads = random.choice(_SIDES)
    titles = (
        f"{'Benchmark':<40} {'Time':>12} {random.choice(('          CPU Iterations', '  CPU   Iterations'))}"
    )
    lines = []
    for at, head in zip((0, 2), heads, strict=True):
        more = random.choice(
            ([], ["Run on (8 X 2400 MHz CPU s)", "2020-06-11 14:53:18"], ["$ ./bench --benchmark_filter=."])
        )
        titled = ["-" * 80, titles, "-" * 80] if random.random() < 0.7 else []
        rows = [
            f"{name:<40} {row[at]:>10} ns {row[at + 1]:>10} ns {random.randrange(1, 10**6):>10}"
            f"{random.choice(('', ' Hits=12', ' 12.5k items/s', ' store:a mode:b'))}"
            for name, row in values.items()
        ]
        lines += [head, "", *more, *titled, *rows, ""]
    return lines, True


def _markdown(random: Random, values: dict[str, list[int]]) -> tuple[list[str], bool]:
    unit = random.choice(("ns", "us"))
    rows = [
        f"| `{name}` | {row[0]:,} {unit} | {row[2]} {unit} | {row[2] / row[0]:.2f}x |"
        for name, row in values.items()
    ]
    return ["| Benchmark | Before | After | Speedup |", "|---|---:|---:|---|", *rows], False


def _benchstat(_: Random, values: dict[str, list[int]]) -> tuple[list[str], bool]:
    rows = [
        f"{name:<40} {row[0]}ns ± 3%  {row[2]}ns ±13%  {(row[2] / row[0] - 1) * 100:+.2f}%  (p=0.000 n=9+9)"
        for name, row in values.items()
    ]
    return [f"{'name':<40} old time/op  new time/op  delta", *rows], False


def _gtest(_: Random, values: dict[str, list[int]]) -> tuple[list[str], bool]:
    lines = []
    for at, head in ((0, "before"), (2, "after")):
        lines += [head, *(f"[       OK ] S.{name} ({row[at]} ms)" for name, row in values.items()), ""]
    for name in list(values):
        values[f"S.{name}"] = values.pop(name)
    return lines, False


def _sentences(random: Random, values: dict[str, list[int]]) -> tuple[list[str], bool]:
    sentence = random.choice(
        ("* {}: {:,} ns -> {} ns", "{} goes from {} ns\nto {:,} ns.", "`{}`: {}ns → {}ns.")
    )
    for row in values.values():
        row[2], row[0] = sorted((row[0], row[2] + 1))  # only improvements are read
    return [sentence.format(name, row[0], row[2]) for name, row in values.items()], False


def damaged(random: Random, message: str) -> str:
    """Change some characters and lines of a message."""
    for _ in range(random.randrange(1, 12)):
        at = random.randrange(len(message) + 1)
        message = random.choice(
            (
                message[:at] + message[at + random.randrange(1, 30) :],
                message[:at] + random.choice(_NOISE) + message[at:],
                message[:at] + "\n" + message[at:],
                message[:at] + message[at:].replace("\n", " ", 1),
                message[:at] + message[at : at + 400] + message[at:],
            )
        )
    return message
