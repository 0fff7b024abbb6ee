"""The ban list: calls and imports that the program must not have, found in its syntax trees.

    violations(Path("src/shipworthy"))  →  ["report/json.py:3: eval", …]

Data is never code: nothing evaluates or runs text, in no module. Who may pickle, open a connection or start a process
is a short list, and each entry says why. An entry that is not needed any more is a violation too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CALLS = {
    *("eval", "exec", "compile", "__import__", "input", "breakpoint"),
    *(
        "os.system",
        "os.popen",
        "tempfile.mktemp",
        "yaml.load",
        "yaml.load_all",
        "yaml.full_load",
        "yaml.unsafe_load",
        "builtins.eval",
        "builtins.exec",
    ),
    *(f"{module}.{name}" for module in ("marshal", "cPickle", "dill") for name in ("load", "loads")),
    # The day and hour of the place where the program runs: a waiver's last day is the same everywhere.
    *(f"{name}.today" for name in ("date", "datetime", "datetime.date", "datetime.datetime")),
    *("datetime.utcnow", "datetime.datetime.utcnow", "time.localtime", "time.ctime"),
    *("shelve.open", "logging.config.fileConfig", "xml.etree.ElementTree.parse", "ctypes.CDLL"),
}
IMPORTS = {"marshal", "shelve", "dill", "requests", "ctypes", "telnetlib", "ftplib", "smtplib", "cgi"}
NETWORK = {
    *("socket", "ssl", "http.client", "urllib.request", "urllib3", "httpx", "httpx2", "aiohttp", "websockets"),
    *("uvicorn", "psycopg", "psycopg2", "asyncpg", "socketserver", "http.server", "xmlrpc"),
}
PROCESSES = {"subprocess", "multiprocessing", "pty", "concurrent.futures.process", "ProcessPoolExecutor"}
PROCESS_CALLS = {
    "fork",
    "forkpty",
    "posix_spawn",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
}
PICKLES = {"pickle", "pickle.load", "pickle.loads"}
MAY_PICKLE = {
    "engines/dask.py": "what this program sent to the workers of the cluster that it was told to use",
    "core/temporary.py": "reads back what this program wrote to its own temporary files or cluster, and nothing else",
}
MAY_CONNECT = {
    "runner": "asks the targets that the user names",
    "net": "the one HTTP client: targets, reasoners and embedding servers that the user names",
    "demo/server.py": "listens on the loopback for the demo",
    "gold/server.py": "listens on the loopback for the review page",
    "pages/serve.py": "listens on the loopback, or where the user says, and shows the history",
    "history/store.py": "a history that the user keeps in PostgreSQL",
}
MAY_START = {
    "runner": "runs the commands and Python targets that the user names",
    "engines/workers.py": "worker processes that read and judge parts",
    "gold/build.py": "runs the command of --word that the user names",
    "jobs/commit.py": "asks git for the commit",
}
# Where a name that is imported does not stand in the source.
MAY_IMPORT_BY_NAME = {
    "__init__.py": "the public names",
    "cli/__init__.py": "one module a verb",
    "engines/__init__.py": "one module an engine",
    "engines/dask.py": "what a worker of a cluster has installed",
    "reading/frames.py": "the library that a table came from",
    "report/__init__.py": "one module a format",
    "stats/__init__.py": "the public names",
    "suites/__init__.py": "one module a suite",
    "suites/retrieval/embedders.py": "module:function that the user names",
    "runner": "module:function that the user names",
}
EXCUSES = {
    "pickles": MAY_PICKLE,
    "connects": MAY_CONNECT,
    "starts": MAY_START,
    "imports by name": MAY_IMPORT_BY_NAME,
}


def violations(root: Path) -> list[str]:
    """Everything that breaks the list, and entries of it that nothing needs."""
    found: list[str] = []
    used: set[tuple[str, str]] = set()
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(root).as_posix()
        for line, kind, what in _findings(ast.parse(path.read_text("utf-8"), where)):
            excuse = _excuse(where, kind)
            if excuse is None:
                found.append(f"{where}:{line}: {kind} {what}")
            else:
                used.add((kind, excuse))
    found += [
        f"{place} may have {kind!r}, and needs it no more"
        for kind, table in EXCUSES.items()
        for place in table
        if (kind, place) not in used
    ]
    return found


# --- who listens, and where ---

LISTENERS = {"create_server", "start_server", "bind", "LocalCluster"}  # and every class that is called …Server
CLUSTER = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
LISTENS_WHERE_TOLD = {"src/shipworthy/net/listening.py"}  # at the address that the user gives, the loopback by default


def open_listeners(root: Path) -> list[str]:
    """Calls of tests, benchmarks and the program that listen anywhere but on the loopback, at a port that is free.

    A cluster's dashboard listens on every interface and at a port of its own unless it is told otherwise.
    """
    found = []
    paths = [path for folder in ("src", "tests", "benchmarks") for path in sorted((root / folder).rglob("*.py"))]
    for path in paths:
        where = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"), where)):
            if isinstance(node, ast.Call) and where not in LISTENS_WHERE_TOLD and not _on_loopback(node):
                found.append(f"{where}:{node.lineno}: {_dotted(node.func)} does not name 127.0.0.1")
    return found


def _on_loopback(node: ast.Call) -> bool:
    last = _dotted(node.func).rpartition(".")[2]
    if last not in LISTENERS and not last.endswith(("HTTPServer", "TCPServer", "UDPServer")):
        return True
    named = {word.arg: word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
    if last == "LocalCluster":
        return all(named.get(key) == value for key, value in CLUSTER.items())
    texts = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return "127.0.0.1" in texts or any(word.arg == "sock" for word in node.keywords)


def _excuse(where: str, kind: str) -> str | None:
    table = EXCUSES.get(kind, {})
    return next((place for place in table if where == place or where.startswith(f"{place}/")), None)


def _findings(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, *found) for found in _imports(node))
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, *found) for found in _calls(node))


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return
        names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        names += [alias.name for alias in node.names if alias.name in PROCESSES]
    else:
        names = [alias.name for alias in node.names]
    for name in names:
        parents = {".".join(name.split(".")[: place + 1]) for place in range(name.count(".") + 1)}
        for kind, banned in (("bans", IMPORTS), ("pickles", PICKLES), ("connects", NETWORK), ("starts", PROCESSES)):
            if parents & banned:
                yield kind, f"import {name}"


def _calls(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _dotted(node.func)
    last = name.rpartition(".")[2]
    if name in CALLS:
        yield "bans", name
    if name.endswith("datetime.now") and not node.args and not node.keywords:
        yield "bans", f"{name} without a zone"
    if name in PICKLES:
        yield "pickles", name
    if last in PROCESS_CALLS or (name.startswith("os.") and last.startswith(("exec", "spawn"))):
        yield "starts", name
    if last in ("open_connection", "create_connection", "sock_connect", "create_server", "start_server"):
        yield "connects", name
    if any(word.arg == "shell" and not _is_false(word.value) for word in node.keywords):
        yield "bans", f"{name}(shell=…)"
    if last == "import_module" and not (node.args and isinstance(node.args[0], ast.Constant)):
        yield "imports by name", name


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
