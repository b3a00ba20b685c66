#!/bin/sh
# Do what the image of PostgreSQL does: create the cluster once, run the statements, then serve.
set -eu
as_postgres() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }
install -d -o postgres /var/lib/postgresql /run/postgresql
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    install -d -o postgres -m 700 "$PGDATA"
    as_postgres initdb --encoding=UTF8 --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    as_postgres pg_ctl -w start -o "-c listen_addresses=''"
    as_postgres psql --no-psqlrc --set=ON_ERROR_STOP=1 <<'END'
\getenv password POSTGRES_PASSWORD
ALTER ROLE postgres PASSWORD :'password';
END
    for file in /docker-entrypoint-initdb.d/*.sql; do
        as_postgres psql --no-psqlrc --set=ON_ERROR_STOP=1 --file="$file"
    done
    as_postgres pg_ctl -w stop
fi
exec setpriv --reuid postgres --regid postgres --init-groups postgres -c listen_addresses='*'
