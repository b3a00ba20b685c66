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

# What the linker of a record would start or load: programs in these directories, plugins, and theirs.
loaded() {
  sed -n 's/^COMPILER_PATH=//p' "$1/environment" | tr ':' '\n'
  sed -n 's/^COLLECT_\(GCC\|LTO_WRAPPER\)=\(.*\/\)/\2/p' "$1/environment"
  awk 'is_plugin || sub(/^--?plugin=/, "") || sub(/^--?plugin-opt=/, "") && /^[^-]*\//
    { is_plugin = /^--?plugin$/ }' "$1/arguments"
}

is_of_project() {
  case $(readlink -f -- "$1")/ in
    "$sources"/* | "$built"/* | "$mounted"/* | "$linked"/*) ;;
    *) return 1 ;;
  esac
}

link_again() {
  link=$1
  name=$(cat "$link/name")
  cd "$(cat "$link/directory")" || return
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
