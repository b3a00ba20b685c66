# Lists the shared objects that the compile command linked, and saves a copy of each.
#
# Only what Benchgate's linker linked can get another order. What the project has from elsewhere is not listed: no
# rule may make it again. Writes `libraries`, paths relative to the build directory, and copies below `saved`.
# Exit code 3: there are some, and all are saved.
set -eu
built=$(readlink -f build)
mounted=${BENCHGATE_BUILD:-/build}
linked=${BENCHGATE_LINKED:-/linked}
rm -rf "$linked/saved" "$linked/libraries"
mkdir "$linked/saved"
cd "$built"
touch "$linked/outputs"
sort -u "$linked/outputs" | while IFS= read -r output; do
  real=$(readlink -f -- "$output") || continue
  case $real in
    "$built"/*) place=./${real#"$built"/} ;;
    "$mounted"/*) place=./${real#"$mounted"/} ;;
    *) continue ;;
  esac
  [ -f "$place" ] || continue
  printf '%s\n' "$place"
  # libtool makes a shared object if the file that describes it is missing.
  case $place in
    */.libs/*) grep -lsF -- "${place##*/}" "${place%/.libs/*}"/*.la || : ;;
  esac
done | sort -u >"$linked/libraries"
[ -s "$linked/libraries" ] || exit 0
xargs -d '\n' cp --parents -p -t "$linked/saved" -- <"$linked/libraries" || {
  rm "$linked/libraries"
  exit 0
}
exit 3
