"""Match lines that count as failures only if a log has no others."""

from __future__ import annotations

from typing import Final

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.line_patterns import ANY_SIGNAL, Builtins, builtin

_NO_CONNECTION: Final = (  # words of strerror and gai_strerror
    "Connection (?:refused|timed out|reset by peer|aborted)|Broken pipe|Address already in use|"
    "Cannot assign requested address|(?:Network is|Host is) unreachable|No route to host|"
    "Transport endpoint is not connected|Software caused connection abort|Name or service not known|"
    "Temporary failure in name resolution|Could not resolve host: [^ ]+"
)
WEAK: Final = Builtins(
    builtin(
        FailureKind.COMMAND,
        r"^(.+: (?:No space left on device|Permission denied|Too many open files|Read-only file system|"
        r"Input/output error|Cannot allocate memory|Resource temporarily unavailable|Disk quota exceeded))$",
        "{1}",
    ),
    builtin(FailureKind.COMMAND, rf"^(.+: (?:{_NO_CONNECTION}))$", "{1}"),
    builtin(
        FailureKind.COMMAND,
        r"^(.* failed with (?:\w+ )?error(?: code)?[:= ]{1,2}-?"
        r"(?:[1-9]\d*|0x0*[1-9a-fA-F][0-9a-fA-F]*)\b.*)$",
        "{1}",
    ),
    builtin(
        FailureKind.COMMAND, r"^(?:[^ ]+: )?(?:line )?(?:\d+: )?([^ :]+: (?:command )?not found)$", "{1}"
    ),
    builtin(
        FailureKind.COMMAND,
        rf"^g?make(?:\[\d+\])?: \*\*\* \[(?:[^\]]*?:\d+: )?([^\]:]+)\] (Error \d+|Killed|{ANY_SIGNAL})",
        "{2}",
        "{1}",
    ),
    builtin(FailureKind.COMMAND, r"^ninja: ((?:build stopped|error): .+)$", "{1}"),
    builtin(FailureKind.COMMAND, r"^((?:fatal )?error: .+)$", "{1}"),
    # an uncaught exception of Python, after its traceback
    builtin(FailureKind.COMMAND, r"^((?:\w+\.)*[A-Z]\w*(?:Error|Exception): .+)$", "{1}"),
    builtin(
        FailureKind.COMMAND,
        r"^([^ :]+): ((?:error while loading shared libraries|cannot execute binary file): .+|"
        r".+: version .+ not found \(required by .+\))$",
        "{2}",
        "{1}",
        path=1,
    ),
    builtin(
        FailureKind.CRASH, r"^(?:.*: line \d+: *\d+ )?(Killed)(?:  +(\S+)|$)", "signal {1}", "{2}", path=2
    ),
    builtin(
        FailureKind.COMMAND,
        r"(?i)^((?:(.+?): )?.*\bexit(?:ed|s)?(?: with)?(?: code| status):? (?:-?[1-9]\d*|0x[0-9a-f]+)\b.*)$",
        "{1}",
        "{2}",
    ),
)
"""Usually consequences of another failure, so they count only if a log has no other."""
