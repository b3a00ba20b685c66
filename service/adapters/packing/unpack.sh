# Argument: the archive.
set -eu
tar --extract --file="$1" --directory="${BENCHGATE_BUILD:-/build}" --no-same-owner --no-same-permissions
