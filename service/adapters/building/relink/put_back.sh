# Puts back the shared objects that the compile command did not make again; from now on they keep their place.
#
# Arguments: `failed` or `succeeded`, the end of the compile command; `missing` or `all`, those to put back. All of
# them are put back if the command failed and none is missing.
# Exit code 3: some were put back, so the compile command must run again.
set -eu
built=$(readlink -f build)
linked=${BENCHGATE_LINKED:-/linked}
cd "$built"
: >"$linked/made"
: >"$linked/missing"
while IFS= read -r place; do
  if [ -f "$place" ]; then list=made; else list=missing; fi
  printf '%s\n' "$place" >>"$linked/$list"
done <"$linked/libraries"
if [ "$1" = succeeded ] && ! [ -s "$linked/missing" ]; then exit 0; fi
if [ "$2" = all ] || ! [ -s "$linked/missing" ]; then
  mv "$linked/libraries" "$linked/missing"
  : >"$linked/made"
fi
mv "$linked/made" "$linked/libraries"
[ -s "$linked/missing" ] || exit 0
sed 's/^/== it cannot be linked again, so it keeps its place: build\//; s/build\/\.\//build\//' \
  "$linked/missing"
cd "$linked/saved"
xargs -d '\n' cp --parents -p --remove-destination -t "$built" -- <"$linked/missing"
exit 3
