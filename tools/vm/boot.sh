#!/bin/sh
# Mounts what the host shares at the path that it has there, so that its bytecode fits, and starts the tests.
set -eu
for word in $(cat /proc/cmdline); do
    case $word in checkout=*) checkout=${word#*=} ;; esac
done
mkdir -p "$checkout" /results
chmod a+x /root # the checkout may be below it
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro checkout "$checkout"
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 results /results
top=$(echo "$checkout" | cut -d / -f 2)
ln -s "$checkout/.venv/pycache/$top" "/var/pycache/$top" # beside that of Python's own library
exec /bin/sh "$checkout/tools/vm/guest.sh" "$checkout" /results
