# Argument: the most KiB to copy. Exit code 4: the files are larger.
# All files are copied before any is removed: pages that one side frees never go to the other side, so only
# the order decides the place of a copy. A reflink would share blocks on disk, which must be read again. The
# old file is removed before the rename, because some file systems write to the disk when a rename replaces
# a file.
set -eu
first=${BENCHGATE_FIRST:-/first}
second=${BENCHGATE_SECOND:-/second}
total=0
for build in "$first" "$second"; do
  cd "$build"
  rm -rf .renewed
  mkdir .renewed .renewed/files
  find . -path ./.renewed -prune -o -type f \( -perm -u+x -o -name '*.so' -o -name '*.so.*' \) \
    -print0 > .renewed/names
  size=$(xargs -0 -r stat --format=%s -- < .renewed/names |
    awk '{ sum += $1 } END { print int(sum / 1024) }')
  total=$((total + size))
done
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
  rm -rf "$build/.renewed"
done
