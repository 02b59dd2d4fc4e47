"""A headless browser, if the machine has one: what a page shows, logs to its console and
requests.

It is controlled over two pipes by Chromium's protocol for tools."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--proxy-server=127.0.0.1:9"),
)
_TOLD = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


class Browser:
    def __init__(self, program: str, folder: Path) -> None:
        asked, self._ask = os.pipe()
        self._answers, said = os.pipe()

        def as_it_wants() -> None:  # the browser reads from 3 and writes to 4
            first, second = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (asked, said))
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [program, *_QUIET, "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=as_it_wants,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asked)
        os.close(said)
        self._count, self._rest, self._events = 0, b"", list[dict[str, Any]]()
        self._session: dict[str, str] = {}
        pages = [one for one in self._call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        attached = self._call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, page: Path, *, has_scripts: bool = True) -> None:
        self._call("Emulation.setScriptExecutionDisabled", value=not has_scripts)
        self._events.clear()
        self._call("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._read())

    def value(self, expression: str) -> Any:
        """Returns the value of an expression in the page, even if the page's scripts are disabled."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    @property
    def console(self) -> list[Any]:
        return [event["params"] for event in self._events if event["method"] in _TOLD]

    @property
    def requests(self) -> list[str]:
        sent = [event["params"] for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ask)
        os.close(self._answers)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        asked = {"id": self._count, "method": method, "params": params, **self._session}
        os.write(self._ask, json.dumps(asked).encode() + b"\0")
        while (told := self._read()).get("id") != self._count:
            self._events.append(told)
        assert "error" not in told, told
        return told["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 20)
            assert read, "the browser is gone"
            self._rest += read
        told, _, self._rest = self._rest.partition(b"\0")
        return json.loads(told)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no browser here")
    opened = Browser(program, tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()
