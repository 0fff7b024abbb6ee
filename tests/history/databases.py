"""Empty histories on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVERS = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres")) + [
    found for found in [shutil.which("postgres")] if found
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server that runs for these tests alone, as a user who is not root."""
    if not SERVERS:
        pytest.skip("PostgreSQL is not on this machine")
    binaries = os.path.dirname(SERVERS[-1])
    folder = tempfile.mkdtemp(prefix="sw-pg-")
    owner: dict[str, Any] = {}
    if os.getuid() == 0:
        owner = {"user": "postgres", "group": "postgres"}
        shutil.chown(folder, "postgres", "postgres")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **owner}
    data = os.path.join(folder, "data")
    subprocess.run([f"{binaries}/initdb", "-D", data, "-U", "tester", "--auth=trust", "--no-sync"], check=True, **quiet)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    control = [f"{binaries}/pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", options, "-l", os.path.join(folder, "log"), "start"], check=True, **quiet)
    try:
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, **quiet)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty history on either database."""
    if request.param == "sqlite":
        return str(tmp_path / "deep" / "history.db")
    import psycopg

    address: str = request.getfixturevalue("server")
    name = f"h{abs(hash(tmp_path.name)) % 10**12}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}".encode())
        connection.execute(f"CREATE DATABASE {name}".encode())
    return address.replace("/postgres?", f"/{name}?")
