# Arguments: the archive's name, the number of programs, the programs, the conditions for find.
# Symbolic links to programs are followed, because their targets may be outside; shared objects and links to
# them are packed as they are. No name is packed twice: tar would unpack either the link or the file.
# Exit code 3: a program is missing; tar, find and sort exit with 1 or 2.
set -eu
out=$PWD/$1
count=$2
shift 2
cd "${BENCHGATE_BUILD:-/build}"
: > "$out.named"
i=0
while [ "$i" -lt "$count" ]; do
  if ! [ -f "$1" ] || ! [ -x "$1" ]; then
    echo "missing program $i"
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
tar --create $options --file="$out" --files-from="$out.kept"
tar --append --dereference $options --file="$out" --files-from="$out.programs"
rm "$out.named" "$out.programs" "$out.found" "$out.kept"
