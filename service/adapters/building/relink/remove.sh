# Removes programs, and the shared objects of find_shared.sh, so that the compile command links them again.
#
# Arguments: the programs. A program may be a link to where it was linked; nothing outside the build directory is
# removed. Without arguments, each program of the build directory is removed, because it may be a test. Links to
# shared objects stay, because Meson creates them once. libtool links a program if its script is missing.
set -u
built=$(readlink -f build)
libraries=${BENCHGATE_LINKED:-/linked}/libraries
if [ $# -eq 0 ]; then
  find "$built" -type f -perm -u+x ! -name '*.so' ! -name '*.so.*' -exec sh -c '
    for program; do
      [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
      rm -f "$program"
      case $program in */.libs/*) rm -f "${program%/.libs/*}/${program##*/}" ;; esac
    done' remove {} +
fi
for program; do
  real=$(readlink -f "$program") || continue
  case $real in
    "$built"/* | "${BENCHGATE_BUILD:-/build}"/*) rm -f "$real" "$program" ;;
    *) continue ;;
  esac
  case $real in */.libs/*) rm -f "${real%/.libs/*}/${real##*/}" ;; esac
done
if [ -s "$libraries" ]; then
  cd "$built" && xargs -d '\n' rm -f -- <"$libraries"
fi
