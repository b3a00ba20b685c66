# Arguments: the archive's name, the most entries, levels and bytes, the number of programs, the programs, the
# conditions for find.
# Symbolic links to programs are followed, because their targets may be outside; shared objects and links to
# them are packed as they are. No name is packed twice: tar would unpack either the link or the file.
# The size of a sparse file counts with its holes, because tar stores and unpacks them in full.
# Exit code 3: a program is missing, and another path may have its name; 4: there is too much to pack; tar, find and sort exit with 1 or 2.
set -eu
out=$PWD/$1
entries=$2
levels=$3
bytes=$4
count=$5
shift 5
cd "${BENCHGATE_BUILD:-/build}"
: > "$out.named"
i=0
while [ "$i" -lt "$count" ]; do
  if ! [ -f "$1" ] || ! [ -x "$1" ]; then
    echo "missing program $i"
    find . -type f -perm -u+x -name "${1##*/}" | sort | head -n 1
    exit 3
  fi
  printf '%s\0' "$1" >> "$out.named"
  shift
  i=$((i + 1))
done
export LC_ALL=C
options='--null --no-recursion --verbatim-files-from --mtime=@0 --owner=0 --group=0 --numeric-owner'
sort -z -u "$out.named" > "$out.programs"
find . \( -type f -o -type l \) \( "$@" \) -print0 | sort -z > "$out.found"
comm -z -23 "$out.found" "$out.programs" > "$out.kept"
too_much() {
  echo "more $1"
  exit 4
}
[ "$(cat "$out.kept" "$out.programs" | tr -cd '\0' | wc -c)" -le "$entries" ] || too_much entries
tr '\0\n' '\n?' < "$out.kept" | awk -F / -v most="$levels" 'NF > most + 2 { exit 1 }' || too_much levels
{
  xargs -0 -r stat --format=%s -- < "$out.kept"
  xargs -0 -r stat --dereference --format=%s -- < "$out.programs"
} | awk -v most="$bytes" '{ sum += $1 } END { exit sum > most }' || too_much bytes
tar --create $options --file="$out" --files-from="$out.kept"
tar --append --dereference $options --file="$out" --files-from="$out.programs"
rm "$out.named" "$out.programs" "$out.found" "$out.kept"
