#!/bin/sh
# Start the server like the image of Valkey. Redis 7.0 does not know client|setinfo, without which clients go on.
settings=$(sed 's/ +client|setinfo//')
exec "$@" <<END
$settings
END
