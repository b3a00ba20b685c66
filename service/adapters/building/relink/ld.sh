#!/bin/sh
# A linker that calls the real one of its name, with the object files in an order of its own.
#
# gcc and clang find it through COMPILER_PATH. With a seed in BENCHGATE_RELINK_SEED (1 to 2147483646) the
# same command line gives the same program; without one, nothing is changed, and each link is recorded in the directory
# BENCHGATE_LINKED, if that is set: the paths of shared objects in the file `outputs`, all the rest for link.sh. A command line that the real
# linker does not take once it is altered is given to it as it was: a build never fails by this.
set -uf
name=${0##*/}
own=$(cd "${0%/*}" && pwd -P)

# The first linker of this name that a compiler would find if this one were not there: where gcc says, beside
# the compiler that calls, along PATH.
real_linker() {
  caller=$(readlink "/proc/$PPID/exe") || caller=
  IFS=:
  for directory in ${COMPILER_PATH:-} "${caller%/*}" ${PATH:-}; do
    [ -f "$directory/$name" ] && [ -x "$directory/$name" ] || continue
    [ "$(cd "$directory" && pwd -P)" = "$own" ] && continue
    printf '%s\n' "${directory%/}/$name"
    return
  done
  echo "$name: there is no other linker of this name" >&2
  exit 127
}

linker=$(real_linker) || exit
case $* in
  *'
'*) exec "$linker" "$@" ;;  # arguments are handed on one a line
esac

# Adds this link to the record: its output, and in `links` all that it takes to link it again.
record() {
  link=$BENCHGATE_LINKED/links/$(date +%s%N)-$$
  mkdir -p "$link" && cd "$link" || return
  (cd "$OLDPWD" && printf '%s\n' "$@" | LC_ALL=C awk -f "$own/words.awk" -f "$own/record.awk") >words || {
    rm -r "$link"
    return
  }
  IFS= read -r made <words
  output=${made#* }
  case $output in
    /*) ;;
    *) output=$OLDPWD/$output ;;
  esac
  case $made in shared\ *) printf '%s\n' "$output" >>"$BENCHGATE_LINKED/outputs" ;; esac
  printf '%s\n' "$output" >output
  printf '%s\n' "$OLDPWD" >directory
  printf '%s\n' "$name" >name
  # What lies beside the compiler that called is not found without it.
  env COMPILER_PATH="${COMPILER_PATH:-}:${linker%/*}" env | grep -f "$own/variables" >environment
  # The compiler removes its temporary files.
  n=0
  sed 1d words | while IFS= read -r word; do
    case $word in
      "${TMPDIR:-/tmp}"/*)
        n=$((n + 1))
        mkdir "$n" && cp -- "$word" "$n" && word=$link/$n/${word##*/}
        ;;
    esac
    printf '%s\n' "$word"
  done | sed "s/[\\\\\"'[:space:]]/\\\\&/g; s/^\$/''/" >arguments
}

if [ -z "${BENCHGATE_RELINK_SEED:-}" ]; then
  if [ -n "${BENCHGATE_LINKED:-}" ]; then (record "$@") 2>/dev/null; fi
  exec "$linker" "$@"
fi

scratch=$(mktemp -d) || exec "$linker" "$@"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

altered() {
  printf '%s\n' "$@" |
    LC_ALL=C awk -v seed="$BENCHGATE_RELINK_SEED" -v scratch="$scratch" \
      -f "$own/words.awk" -f "$own/arguments.awk" || return
  set +f
  for source in "$scratch"/*.s; do
    as -o "${source%.s}.o" "$source" || return
  done
  "$linker" "@$scratch/arguments"
}

if altered "$@" >"$scratch/said" 2>&1; then
  cat "$scratch/said" >&2
else
  "$linker" "$@"
fi
