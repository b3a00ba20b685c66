# Argument: the most KiB to copy. Exit code 4: the files are larger.
# All files are copied before any is removed: pages that one side frees never go to the other side, so only
# the order decides the place of a copy. A reflink would share blocks on disk, which must be read again. The
# old file is removed before the rename, because some file systems write to the disk when a rename replaces
# a file.
set -eu
first=${BENCHGATE_FIRST:-/first}
second=${BENCHGATE_SECOND:-/second}
rm -rf "$first/.renewed" "$second/.renewed"
mkdir "$first/.renewed" "$first/.renewed/files" "$second/.renewed" "$second/.renewed/files"
for build in "$first" "$second"; do
  cd "$build"
  find . -path ./.renewed -prune -o -type f \( -perm -u+x -o -name '*.so' -o -name '*.so.*' \) \
    -fprint0 .renewed/names -fprintf .renewed/sizes '%s\n'
done
total=$(awk '{ sum += $1 } END { print int(sum / 1024) }' "$first/.renewed/sizes" "$second/.renewed/sizes")
if [ "$total" -gt "$1" ]; then
  rm -rf "$first/.renewed" "$second/.renewed"
  exit 4
fi
for build in "$first" "$second"; do
  cd "$build"
  xargs -0 -r cp --parents --preserve=mode,timestamps --reflink=never -t .renewed/files -- < .renewed/names
done
for build in "$first" "$second"; do
  cd "$build/.renewed/files"
  xargs -0 -r sh -c '
    set -eu
    for name; do
      rm -f -- "../../$name"
      mv -T -- "$name" "../../$name"
    done' replace < ../names
done
rm -rf "$first/.renewed" "$second/.renewed"
