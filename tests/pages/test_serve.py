"""`shipworthy serve`: the pages of `site` over HTTP, who may read and add what, and what becomes of bad requests."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from planting import known, plant, report

from conftest import Cli
from shipworthy.history import History
from shipworthy.pages.site import write_site
from shipworthy.pages.tokens import add_token, list_tokens, revoke_token
from waiting import wait_until

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed
PROJECT = "acme/qa"
BRANCH = "/p/acme~2Fqa/main"


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.body = response.status, response.read()
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server of its own process, at a free port."""

    def __init__(self, url: str, *flags: str, cwd: Path | None = None, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shipworthy", "serve", "--history", url, "--port", "0", *flags],
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **env},
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        assert first.startswith("http://"), first + self.process.stderr.read()
        self.port = int(first.split()[0].rpartition(":")[2])
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def upload(self, token: str, body: object) -> Answer:
        return self.ask("/api/runs", "POST", json.dumps(body), Authorization=f"Bearer {token}")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return self.process.returncode


@contextmanager
def running(url: str, *flags: str, **more: Any) -> Iterator[Running]:
    served = Running(url, *flags, **more)
    try:
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return plant(str(tmp_path_factory.mktemp("served") / "history.db"), range(25, 36))


@pytest.fixture(scope="module")
def served(planted: str) -> Iterator[Running]:
    with running(planted) as found:
        yield found


def head_of(token: str, length: int) -> bytes:
    head = "POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    return f"{head}Authorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n".encode()


# Pages


def test_site_and_serve_are_the_same_bytes(planted: str, served: Running, tmp_path: Path) -> None:
    write_site(planted, tmp_path / "site")
    files = [
        path for path in (tmp_path / "site").rglob("*") if path.is_file() and not path.name.startswith("shipworthy-")
    ]
    assert len(files) > 100
    for path in files:
        answer = served.ask(f"/{path.relative_to(tmp_path / 'site')}")
        assert (answer.status, answer.body) == (200, path.read_bytes()), path


def test_an_address_that_ends_in_a_slash_is_its_first_page(served: Running) -> None:
    for path in ("/", f"{BRANCH}/", f"{BRANCH}/runs/", f"{BRANCH}/items/answers/Q07/"):
        assert served.ask(path).body == served.ask(f"{path}index.html").body


def test_any_two_runs_can_be_compared(served: Running) -> None:
    checks = served.ask(f"{BRANCH}/runs/index.json").json["checks"]
    first, last = (checks[place]["runs"][0]["id"][:12] for place in (-1, 0))
    assert "Q07" in served.ask(f"{BRANCH}/compare/{first}..{last}/index.json").json["lost"]


def test_every_answer_has_the_headers_that_keep_a_browser_safe(served: Running) -> None:
    for path in ("/", "/style.css", "/nothing.html", "/health", "/metrics", "/live/"):
        headers = served.ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; script-src 'self'")
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/index.php",
        "/p/acme~2Fqa/other/",
        "/p/../p/acme~2Fqa/main/",
        f"{BRANCH}/runs/zzzzzzzzzzzz/",
        f"{BRANCH}/runs/page-99.html",
        f"{BRANCH}/runs/page-1.html",
        f"{BRANCH}/items/answers/Q99/",
        f"{BRANCH}/items/answers/~zz/",
        f"{BRANCH}/items/answers/~FF/",
        f"{BRANCH}/items/other/Q07/",
        f"{BRANCH}/gates/nothing/",
        f"{BRANCH}/compare/a..b/",
        f"{BRANCH}/items/answers/Q07%2F..%2F..%2Findex.html",
        "/%00.html",
        f"/{'a' * 5000}.html",
    ],
)
def test_what_is_not_there_is_not_found(served: Running, path: str) -> None:
    answer = served.ask(path)
    assert (answer.status, answer.json["error"]["code"]) == (404, "not-found")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_are_only_read(served: Running, method: str) -> None:
    assert served.ask("/index.html", method).status == 405


def test_a_page_that_did_not_change_is_not_sent_again(served: Running) -> None:
    first = served.ask(f"{BRANCH}/")
    again = served.ask(f"{BRANCH}/", If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_new_run_shows_at_once(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1, 2])
    with running(url) as found:
        assert len(found.ask(f"{BRANCH}/runs/index.json").json["checks"]) == 2
        History(url).record(report(3), **known(3))
        assert len(found.ask(f"{BRANCH}/runs/index.json").json["checks"]) == 3


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254", "", "a b"])
def test_another_host_is_not_served(served: Running, host: str) -> None:
    assert served.ask("/", Host=host).status in (400, 421)


def test_health_metrics_and_log_tell_no_secret(served: Running) -> None:
    served.ask("/?token=secret-in-query", Authorization="Bearer secret-in-header")
    assert served.ask("/health").json["ok"] is True
    metrics = served.ask("/metrics").body.decode()
    assert 'shipworthy_requests_total{kind="page",status="200"}' in metrics and "shipworthy_runs 11" in metrics
    assert metrics.endswith("# EOF\n")
    wait_until(lambda: any('"/metrics"' in line for line in served.log))
    assert {"time", "client", "method", "path", "status", "ms", "bytes"} == set(json.loads(served.log[-1]))
    assert "secret" not in "".join(served.log)


# Where it listens


def test_the_next_free_port_is_taken(planted: str) -> None:
    from shipworthy.pages.serve import PORT

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", PORT))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        process = subprocess.Popen(
            [sys.executable, "-m", "shipworthy", "serve", "--history", planted], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            port = int(process.stderr.readline().split()[0].rpartition(":")[2])
            assert PORT < port < PORT + 20
        finally:
            process.terminate()
            process.wait(20)
            process.stderr.close()


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(cli: Cli, planted: str, served: Running) -> None:
    ran = cli("serve", "--history", planted, "--port", served.port)
    assert ran.code == 4 and "can't listen" in ran.err and "serve-port" in ran.err


def test_another_address_needs_a_token(cli: Cli, planted: str) -> None:
    ran = cli("serve", "--history", planted, "--host", "0.0.0.0")
    assert ran.code == 2 and "can be reached from other machines and no token was given" in ran.err


def test_with_a_token_every_page_needs_it(planted: str) -> None:
    with running(planted, "--host", "0.0.0.0", SHIPWORTHY_TOKEN="s3cret") as found:
        for path in ("/", f"{BRANCH}/", "/live/", "/metrics", "/style.css"):
            refused = found.ask(path)
            assert refused.status == 401 and refused.headers["www-authenticate"].startswith("Basic")
            assert b"acme" not in refused.body
        for wrong in ("Bearer s3cre", "Basic !!!", "Basic " + base64.b64encode(b"x:no").decode(), "s3cret", "Bearer ü"):
            assert found.ask("/", Authorization=wrong).status == 401
        assert found.ask("/", Authorization="Bearer s3cret").status == 200
        password = base64.b64encode(b"anybody:s3cret").decode()
        assert found.ask("/", Authorization=f"Basic {password}").status == 200
        assert found.ask("/health").status == 200
        found.stop()
        assert "s3cret" not in "".join(found.log)


def test_a_proxy_may_pass_on_its_name(planted: str) -> None:
    with running(planted, "--allow-host", "quality.example.com") as found:
        assert found.ask("/", Host="quality.example.com").status == 200
        assert found.ask("/", Host="other.example.com").status == 421


def test_a_history_that_is_not_there_is_not_served(cli: Cli, tmp_path: Path) -> None:
    ran = cli("serve", "--history", tmp_path / "none.db", "--port", "0")
    assert ran.code == 2 and "there is no history yet" in ran.err


def test_it_stops_when_it_is_told_to_and_ends_what_it_began(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1])
    _, token = add_token(url, PROJECT)
    found = Running(url)
    body = json.dumps({"report": report(9), **known(9)}).encode()
    with socket.create_connection(("127.0.0.1", found.port)) as client:
        answers = client.makefile("rb")
        client.sendall(head_of(token, len(body)).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
        assert answers.readline().startswith(b"HTTP/1.1 100") and not answers.readline().strip()  # it is at it
        client.sendall(body[:100])
        found.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        client.sendall(body[100:])
        assert answers.readline().startswith(b"HTTP/1.1 201")
    assert found.stop() == 0
    assert len(History(url).runs()) == 2


# Uploads, on both databases


@pytest.fixture
def door(url: str) -> Iterator[tuple[Running, str, str]]:
    """A server on either database, a token for its project, and the URL of the history."""
    plant(url, [1])
    _, token = add_token(url, PROJECT, "ci")
    with running(url) as found:
        yield found, token, url


def test_a_run_is_added_once_and_shown(door: tuple[Running, str, str]) -> None:
    found, token, url = door
    body = {"report": report(2), **known(2)}
    first, again = found.upload(token, body), found.upload(token, body)
    assert (first.status, again.status) == (201, 200)
    assert first.json["runs"][0]["id"] == again.json["runs"][0]["id"] and not again.json["runs"][0]["new"]
    assert [run.label for run in History(url).runs()] == ["night-1", "night-2"]
    assert len(found.ask(f"{BRANCH}/runs/index.json").json["checks"]) == 2
    assert found.ask(f"{BRANCH}/").status == 200


def test_a_report_alone_brings_its_build_with_it(door: tuple[Running, str, str]) -> None:
    found, token, url = door
    alone = report(5) | {"run": {"build": {"commit": "abc", "branch": "topic", "label": "b7", "time": "2026-01-01"}}}
    assert found.upload(token, alone).status == 201
    run = History(url).runs()[-1]
    assert (run.project, run.commit, run.branch, run.label) == (PROJECT, "abc", "topic", "b7")


def test_tokens_are_scoped_revocable_and_kept_as_digests(door: tuple[Running, str, str]) -> None:
    found, token, url = door
    body = {"report": report(2), **known(2)}
    assert found.upload(token, body | {"project": "acme/other"}).status == 403
    for wrong in ("", "swt_wrong", token[:-1], token + "x", "x" * 5000):
        assert found.upload(wrong, body).status == 401
    (kept,) = list_tokens(url)
    assert History(url).read("SELECT digest FROM shipworthy_tokens")[0][0] not in token and token not in str(kept)
    assert revoke_token(url, kept.id).revoked_at
    assert found.upload(token, body).status == 401
    assert len(History(url).runs()) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "not-json"),
        (b"{", 400, "not-json"),
        (b"\xff\xfe", 400, "not-json"),
        (b'{"a": 1, "a": 2}', 400, "not-json"),
        (b"[" * 100_000, 400, "not-json"),
        (b"[]", 422, "report-invalid"),
        (b'{"report": null}', 422, "report-invalid"),
        (json.dumps({"report": report(1) | {"decision": "NO-SHIP"}}).encode(), 422, "report-edited"),
        (json.dumps({"report": report(1), "commit": 7}).encode(), 422, "field-invalid"),
        (json.dumps({"report": report(1), "label": "x" * 501}).encode(), 422, "field-invalid"),
    ],
)
def test_what_is_not_a_report_as_it_was_written_is_refused(
    tmp_path: Path, body: bytes, status: int, code: str, refusing: tuple[Running, str, str]
) -> None:
    found, token, url = refusing
    answer = found.ask("/api/runs", "POST", body, Authorization=f"Bearer {token}")
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert len(History(url).runs()) == 1


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str, str]]:
    url = plant(str(tmp_path_factory.mktemp("refusing") / "history.db"), [1])
    _, token = add_token(url, PROJECT)
    with running(url) as found:
        yield found, token, url


def test_a_gigabyte_is_refused_without_reading_it(refusing: tuple[Running, str, str]) -> None:
    found, token, _ = refusing
    with socket.create_connection(("127.0.0.1", found.port), timeout=10) as client:
        head = head_of(token, 1 << 30)
        client.sendall(head)  # and not a byte of it
        answer = client.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 413") and b"upload-too-large" in answer


def test_a_body_without_a_length_is_read_no_further_than_the_limit(refusing: tuple[Running, str, str]) -> None:
    found, token, _ = refusing
    with socket.create_connection(("127.0.0.1", found.port), timeout=30) as client:
        head = "POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
        client.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent = 0
        try:
            for _ in range(200):
                client.sendall(chunk)
                sent += 1
        except OSError:
            pass
        assert sent < 200


def test_uploads_are_limited_and_so_are_guesses(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1])
    _, token = add_token(url, PROJECT)
    with running(url, "--uploads-per-minute", "3") as found:
        answers = [found.upload(token, {"report": report(2), **known(2)}) for _ in range(5)]
        assert [one.status for one in answers] == [201, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) > 0
        assert 429 in [found.upload("swt_guess", {}).status for _ in range(40)]


def test_two_projects_with_the_same_run_are_not_mixed_up(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1])
    _, token = add_token(url, "acme/other")
    with running(url) as found:
        answer = found.upload(token, {"report": report(1), **known(1, project="acme/other")})
        assert (answer.status, answer.json["error"]["code"]) == (409, "other-project")


def test_a_server_that_is_killed_in_mid_upload_keeps_whole_runs_only(url: str) -> None:
    plant(url, [1])
    _, token = add_token(url, PROJECT)
    found = Running(url, "--uploads-per-minute", "100000", "--quiet")
    done: list[str] = []

    def keep_on(name: str) -> None:
        for night in range(2, 1000):
            try:
                answer = found.upload(token, {"report": report(night), **known(2, label=f"{name}-{night}")})
            except (OSError, http.client.HTTPException):
                return
            if answer.status != 201:
                return
            done.append(f"{name}-{night}")

    clients = [threading.Thread(target=keep_on, args=(name,)) for name in ("a", "b")]
    for client in clients:
        client.start()
    wait_until(lambda: len(done) > 5 or not all(client.is_alive() for client in clients))
    found.process.kill()
    for client in clients:
        client.join()
    found.stop()
    runs = History(url).runs()
    assert len(done) > 5 and set(done) <= {run.label for run in runs}
    counts = dict(History(url).read("SELECT run, count(*) FROM shipworthy_items GROUP BY run"))
    assert {counts[run.seq] for run in runs} == {24}
    assert [one["digest"] for one in History(url).reports(runs)] == [run.digest for run in runs]


# A history in trouble


def test_a_history_that_is_locked_or_gone_is_a_503_that_says_nothing_of_it(tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1])
    with running(url) as found:
        assert found.ask("/health").status == 200
        for name in ("history.db", "history.db-wal", "history.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        for path in ("/", "/health"):
            answer = found.ask(path)
            assert answer.status == 503 and answer.headers["retry-after"]
            assert str(tmp_path) not in answer.body.decode()


# Tokens on the command line


def test_tokens_come_and_go_by_the_command_line(cli: Cli, tmp_path: Path) -> None:
    url = plant(str(tmp_path / "history.db"), [1])
    made = cli("serve", "token", "add", "--project", PROJECT, "--name", "ci of qa", "--history", url)
    assert made.code == 0 and made.out.startswith("swt_") and "can't be shown again" in made.err
    listed = cli("serve", "token", "list", "--history", url)
    assert "acme/qa" in listed.out and "in force" in listed.out and made.out.strip() not in listed.out
    name = listed.out.split()[0]
    assert "is revoked" in cli("serve", "token", "revoke", name, "--history", url).out
    assert "revoked" in cli("serve", "token", "list", "--history", url).out
    assert cli("serve", "token", "revoke", "nothing", "--history", url).code == 2
    assert cli("serve", "token", "add", "--project", " ", "--history", url).code == 2
