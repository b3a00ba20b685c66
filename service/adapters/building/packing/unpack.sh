# Arguments: the archive, the most entries, levels and bytes. Exit code 4: the archive has more.
set -eu
# A line of the list is: mode, owner, size, date, time, name, and the target of a link. If tar cannot read the
# archive, it says so below.
tar --list --verbose --numeric-owner --quoting-style=escape --file="$1" 2>/dev/null |
  awk -v entries="$2" -v levels="$3" -v bytes="$4" '
    function end(what) { print "more " what; failed = 4; exit }
    { sum += $3; sub(/ -> .*/, "") }
    NR > entries { end("entries") }
    split($0, names, "/") > levels + 3 { end("levels") }
    sum > bytes { end("bytes") }
    END { exit failed }'
tar --extract --file="$1" --directory="${BENCHGATE_BUILD:-/build}" --no-same-owner --no-same-permissions
