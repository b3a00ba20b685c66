# Links programs and shared objects again from the linker's record, without any command of the project.
#
# Arguments: the programs; without any, all that the compile command linked. The shared objects are those of
# find_shared.sh. All of them are removed first, so what cannot be linked again is missing afterwards; links to them
# stay. The record may be the work of an attacker: it may name any inputs, but no linker or plugin of the project.
set -uf
built=$(readlink -f build)
mounted=${BENCHGATE_BUILD:-/build}
linked=${BENCHGATE_LINKED:-/linked}
linkers=$(cd "${0%/*}" && pwd -P)
sources=$(pwd -P)
unset BENCHGATE_LINKED  # or the linker would record these links, too
export LC_ALL=C

place_of() {
  real=$(readlink -f -- "$1") || return
  case $real in
    "$built"/*) printf './%s\n' "${real#"$built"/}" ;;
    "$mounted"/*) printf './%s\n' "${real#"$mounted"/}" ;;
    *) return 1 ;;
  esac
}

records() {
  find "$linked/links" -mindepth 1 -maxdepth 1 | sort
}

# The words of a record's command line, response files within it included, as its linker would read them.
words_of() {
  script=$2
  printf '@%s/arguments\n' "$1" | awk -f "$linkers/words.awk" -f "$linkers/$script.awk"
}

# What the linker of a record would start or load: programs in these directories, plugins, and theirs.
loaded() {
  sed -n 's/^COMPILER_PATH=//p' "$1/environment" | tr ':' '\n'
  sed -n 's/^COLLECT_\(GCC\|LTO_WRAPPER\)=\(.*\/\)/\2/p' "$1/environment"
  words_of "$1" loaded
}

# Whether the project may have made a file or directory: wherever it can write, an earlier link may have done so.
is_of_project() {
  real=$(readlink -f -- "$1") || return
  case $real/ in
    "$sources"/* | "$built"/* | "$mounted"/* | "$linked"/*) ;;
    "$linkers"/* | /usr/* | /lib/* | /lib64/* | /opt/*) return 1 ;;
    *) [ -w "$real" ] ;;
  esac
}

link_again() {
  link=$1
  name=$(cat "$link/name")
  cd "$(cat "$link/directory")" || return
  case ${name##*/} in
    ld | ld.bfd | ld.gold | ld.lld | ld.mold) ;;
    *) return 1 ;;
  esac
  # A link that creates another file than it claims could replace an input of a later one.
  made=$(words_of "$link" record | head -n 1) || return
  made=${made#* }
  [ "$(readlink -f -- "$made")" = "$(readlink -f -- "$(cat "$link/output")")" ] || return
  set --
  while IFS= read -r place; do
    if is_of_project "$place"; then return 1; fi
  done <<END
$(loaded "$link")
END
  while IFS= read -r variable; do set -- "$@" "$variable"; done <<END
$(grep -f "$linkers/variables" "$link/environment")
END
  env "$@" "$linkers/${name##*/}" "@$link/arguments"
}

{
  if [ -f "$linked/libraries" ]; then cat "$linked/libraries"; fi
  for program; do place_of "$program"; done
  if [ $# -eq 0 ]; then
    records | while IFS= read -r link; do place_of "$(cat "$link/output")"; done
  fi
} >"$linked/wanted"
(cd "$built" && xargs -d '\n' rm -f -- <"$linked/wanted") || exit
records >"$linked/sorted"
while IFS= read -r link; do
  place=$(place_of "$(cat "$link/output")") || continue
  grep -qxF -- "$place" "$linked/wanted" || continue
  (link_again "$link" </dev/null) || exit
done <"$linked/sorted"
