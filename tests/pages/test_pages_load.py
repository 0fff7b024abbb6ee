"""Many readers and uploaders at once, on SQLite and on PostgreSQL: nothing is lost, and nobody gets an error."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time

from planting import known, plant, report
from test_serve import BRANCH, PROJECT, running

from shipworthy.history import History
from shipworthy.pages.tokens import add_token

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed
EFFORT = int(os.environ.get("SHIPWORTHY_EFFORT", "1"))
SECONDS, READERS, UPLOADERS = 2.0 * EFFORT, 8 * EFFORT, 3 * EFFORT


def test_nothing_is_lost_while_many_read_and_add(url: str) -> None:
    plant(url, [1, 2])
    _, token = add_token(url, PROJECT)
    end = time.monotonic() + SECONDS
    added, read, wrong = list[str](), list[int](), list[object]()

    with running(url, "--uploads-per-minute", "1000000", "--quiet") as found:

        def add(name: str) -> None:
            number = 0
            while time.monotonic() < end or not number:
                label = f"{name}-{number}"
                answer = found.upload(token, {"report": report(number + 3, questions=6), **known(3, label=label)})
                (added if answer.status == 201 else wrong).append(label)  # type: ignore[attr-defined]
                number += 1

        def look() -> None:
            paths = ["/", f"{BRANCH}/", f"{BRANCH}/items/", f"{BRANCH}/items/answers/Q01/", f"{BRANCH}/runs/"]
            connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=60)
            count = 0
            while time.monotonic() < end or not count:
                connection.request("GET", paths[count % len(paths)])
                response = connection.getresponse()
                body = response.read()
                whole = response.status == 200 and body.rstrip().endswith(b"</html>")
                (read if whole else wrong).append(response.status)  # type: ignore[attr-defined]
                count += 1
            connection.close()

        crowd = [threading.Thread(target=look) for _ in range(READERS)]
        crowd += [threading.Thread(target=add, args=(f"u{number}",)) for number in range(UPLOADERS)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        shown = json.loads(found.ask(f"{BRANCH}/index.json").body)
    assert wrong == [] and len(read) >= READERS
    runs = History(url).runs()
    assert sorted(run.label for run in runs[2:]) == sorted(added)
    assert shown["suites"][0]["run"] == runs[-1].seq
