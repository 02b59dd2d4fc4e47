"""The official conformance suite with our links as its client: where node and the package can be had.

Left out by intent: enterprise-managed authorization and workload identity, where something outside of bayou would have
to give it an assertion, and DPoP, which the SDK cannot do. Each scenario is asked by itself: all of them at once are
too much for a small machine.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import OUTSIDE
from tests.mcp.conformance_client import CALLS_CLIENT, serve_calls
from tests.support.npm import why_npm_cannot

pytestmark = pytest.mark.installs
PACKAGES = ("node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
PASSED = re.compile(r"Passed: (?P<passed>\d+)/(?P<all>\d+), (?P<failed>\d+) failed")
SCENARIOS = {
    "initialize": 1, "tools_call": 2, "elicitation-sep1034-client-defaults": 5, "sse-retry": 3, "request-metadata": 7,
    "http-standard-headers": 6, "http-custom-headers": 18, "http-invalid-tool-headers": 12,
    "json-schema-ref-no-deref": 1, "json-schema-2020-12-preservation": 9, "sep-2322-client-request-state": 5,
    "auth/metadata-default": 20, "auth/metadata-var1": 20, "auth/metadata-var2": 20, "auth/metadata-var3": 20,
    "auth/pre-registration": 15, "auth/scope-step-up": 27, "auth/scope-retry-limit": 19,
    "auth/authorization-server-migration": 29,
    "auth/basic-cimd": 15, "auth/scope-from-www-authenticate": 16, "auth/scope-from-scopes-supported": 16,
    "auth/scope-omitted-when-undefined": 16, "auth/token-endpoint-auth-basic": 21,
    "auth/token-endpoint-auth-post": 21, "auth/token-endpoint-auth-none": 21,
    "auth/2025-03-26-oauth-metadata-backcompat": 14, "auth/2025-03-26-oauth-endpoint-fallback": 9,
    "auth/resource-mismatch": 2, "auth/offline-access-scope": 16, "auth/offline-access-not-supported": 15,
    "auth/iss-supported": 15, "auth/iss-not-advertised": 15, "auth/iss-supported-missing": 8,
    "auth/iss-wrong-issuer": 8, "auth/iss-unexpected": 8, "auth/iss-normalized": 8,
    "auth/metadata-issuer-mismatch": 3, "auth/client-credentials-jwt": 10, "auth/client-credentials-basic": 10,
}  # fmt: skip
"""With the checks that passed when this was written: fewer would say that something is not asked any more."""


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conformance")
    (folder / "package.json").write_text('{"private": true}')
    if why := why_npm_cannot(folder, "install", "--no-audit", "--no-fund", *PACKAGES):
        pytest.skip(f"the conformance suite cannot be had: {why}")
    return folder / "node_modules"


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_no_check_fails(scenario: str, suite: Path, tmp_path: Path):
    environment = {
        **OUTSIDE,
        "PATH": f"{suite / 'node' / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "NODE_COMPILE_CACHE": str(suite.parent / "compiled"),
    }
    (tmp_path / "calls.py").write_text(CALLS_CLIENT)
    async with await asyncio.start_server(serve_calls, "127.0.0.1", 0) as client, asyncio.timeout(120):
        port = client.sockets[0].getsockname()[1]
        command = f"{sys.executable} -I -S {tmp_path / 'calls.py'} {port}"
        suites = await asyncio.create_subprocess_exec(
            *(suite / ".bin" / "conformance", "client", "--command", command, "--scenario", scenario),
            *("-o", tmp_path / "results"),
            env=environment,
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told = (await suites.communicate())[0].decode()
    counts = PASSED.search(told)
    assert counts is not None, told[-4000:]
    assert int(counts["failed"]) == 0, told[-4000:]
    assert int(counts["passed"]) >= SCENARIOS[scenario]
