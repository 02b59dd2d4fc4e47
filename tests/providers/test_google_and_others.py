"""What is particular to Google, Vertex, Mistral and Bedrock."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.adapters import google_identity
from app.providers.model_stream import Credential, StreamOptions
from app.values.content import Text, Thinking, ToolCall
from app.values.messages import AssistantMessage, user_message
from app.values.models import ThinkingLevel
from tests.architecture.sources import ROOT
from tests.providers.loopback import Loopback, Received, Reply, sse
from tests.providers.wire_formats import (
    ANSWERS,
    KEY,
    ask,
    context,
    frame,
    google_answer,
    listen,
    mistral_answer,
    model_for,
    options,
)

GOOGLE = "google-generative-ai"
needs_botocore = pytest.mark.skipif(
    "bedrock-converse-stream" not in ANSWERS, reason="botocore comes with the optional extra bayou[bedrock]"
)


def parts(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(items)}, **more}]}


async def test_a_call_comes_whole_as_one_delta(server: Loopback):
    server.sse(google_answer())
    events = await listen(
        AdapterRegistry().stream_answer(model_for(GOOGLE, server.url), context(), options())
    )
    tags = [event.__struct_config__.tag for event in events]
    first = tags.index("toolcall_start")
    assert tags[first : first + 3] == ["toolcall_start", "toolcall_delta", "toolcall_end"]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "error"), ("MALFORMED_FUNCTION_CALL", "error")],
)
async def test_googles_finish_reasons(reason: str, stop: str, server: Loopback):
    server.sse(sse(parts({"text": "Hi"}), parts(finishReason=reason)))
    message = await ask(model_for(GOOGLE, server.url))
    assert (message.stop_reason, message.raw_stop_reason, message.text) == (stop, reason, "Hi")
    assert stop != "error" or reason in (message.error_message or "")


async def test_a_blocked_prompt_and_an_error_in_the_stream(server: Loopback):
    server.sse(sse({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert "blocked" in ((await ask(model_for(GOOGLE, server.url))).error_message or "")
    server.sse(sse({"error": {"code": 503, "message": "Busy", "status": "UNAVAILABLE"}}))
    message = await ask(model_for(GOOGLE, server.url))
    assert message.error_message == "UNAVAILABLE 503: Busy"
    assert message.diagnostics[0]["details"]["status"] == 503


async def test_thought_signatures_go_back_where_they_came_from(server: Loopback):
    server.sse(google_answer())
    model = model_for(GOOGLE, server.url)
    first = await ask(model)
    await ask(model, context(user_message("a"), first))
    sent = server.requests[-1].json["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in sent] == ["sig-t", None, "sig-1", None]
    foreign = AssistantMessage(content=(ToolCall(id="a", name="read", arguments={}),), stop_reason="toolUse")
    await ask(model_for(GOOGLE, server.url, id="gemini-3-pro"), context(user_message("a"), foreign))
    (part,) = server.requests[-1].json["contents"][1]["parts"]
    assert part["thoughtSignature"] == "skip_thought_signature_validator"


@pytest.mark.parametrize(
    ("model_id", "level", "expected"),
    [
        ("gemini-2.5-pro", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("gemini-3-pro", "high", {"includeThoughts": True, "thinkingLevel": "high"}),
        ("gemini-4-argon", "medium", {"includeThoughts": True, "thinkingLevel": "medium"}),
    ],
)
async def test_googles_thinking(
    model_id: str, level: ThinkingLevel, expected: dict[str, Any], server: Loopback
):
    server.sse(google_answer())
    await ask(model_for(GOOGLE, server.url, id=model_id), how=options(thinking=level))
    request = server.requests[0]
    assert request.json["generationConfig"]["thinkingConfig"] == expected
    assert request.target == f"/models/{model_id}:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY


def token_server(server: Loopback) -> None:
    """Answers with a token at `/token` and with the model everywhere else."""

    def answer(request: Received) -> Reply:
        if request.target == "/token":
            body = json.dumps({"access_token": "adc-token", "expires_in": 3600}).encode()
            return Reply(body=body, headers={"Content-Type": "application/json"})
        return Reply(body=google_answer())

    server.reply(answer)


def vertex(path: Path) -> Any:
    env = {
        "GOOGLE_CLOUD_PROJECT": "proj",
        "GOOGLE_CLOUD_LOCATION": "europe-west1",
        "GOOGLE_APPLICATION_CREDENTIALS": str(path),
    }
    return options(credential=Credential(env=env))


async def test_vertex_with_the_credentials_of_gcloud(server: Loopback, tmp_path: Path):
    file = tmp_path / "adc.json"
    fields = {
        "refresh_token": "r",
        "client_id": "c",
        "client_secret": "s",
        "token_uri": f"{server.url}/token",
    }
    file.write_text(json.dumps({"type": "authorized_user", **fields}))
    token_server(server)
    for _ in range(2):
        assert (await ask(model_for("google-vertex", server.url), how=vertex(file))).stop_reason == "toolUse"
    asked, first, second = server.requests
    assert b"grant_type=refresh_token" in asked.body, "and only once"
    assert first.headers["authorization"] == second.headers["authorization"] == "Bearer adc-token"
    assert first.target == (
        "/v1/projects/proj/locations/europe-west1/publishers/google/models/model-x:streamGenerateContent?alt=sse"
    )


async def test_vertex_with_a_service_account(server: Loopback, tmp_path: Path):
    key = new_key(tmp_path)
    file = tmp_path / "sa.json"
    fields = {"client_email": "a@b", "private_key": key.read_text(), "token_uri": f"{server.url}/token"}
    file.write_text(json.dumps({"type": "service_account", **fields}))
    token_server(server)
    assert (await ask(model_for("google-vertex", server.url), how=vertex(file))).stop_reason == "toolUse"
    assertion = server.requests[0].body.decode().partition("assertion=")[2]
    text, _, signature = assertion.rpartition(".")
    assert is_signed(tmp_path, key, text, base64.urlsafe_b64decode(signature + "=="))


def new_key(folder: Path) -> Path:
    openssl(folder, "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "key.pem")
    return folder / "key.pem"


def is_signed(folder: Path, key: Path, text: str, signature: bytes) -> bool:
    (folder / "text").write_text(text)
    (folder / "sig").write_bytes(signature)
    openssl(folder, "pkey", "-in", str(key), "-pubout", "-out", "pub.pem")
    words = ("dgst", "-sha256", "-verify", "pub.pem", "-signature", "sig", "text")
    return "Verified OK" in openssl(folder, *words)


def openssl(folder: Path, *words: str) -> str:
    done = subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{broken", "cannot be read"),
        ('{"type": "external_account"}', "'external_account', which bayou does not support"),
        (
            '{"type": "service_account", "private_key": "x"}',
            "private key of the service account cannot be read",
        ),
    ],
)
async def test_google_credentials_that_cannot_be_used(text: str, words: str, tmp_path: Path):
    file = tmp_path / "bad.json"
    file.write_text(text)
    message = await ask(model_for("google-vertex", "http://127.0.0.1:9"), how=vertex(file))
    assert (words in (message.error_message or "") and str(file.name)) or "private key" in words
    missing = await ask(model_for("google-vertex"), how=vertex(tmp_path / "none.json"))
    assert "gcloud auth application-default login" in (missing.error_message or "")
    nowhere = await ask(model_for("google-vertex"), how=options(credential=Credential()))
    assert "GOOGLE_CLOUD_PROJECT" in (nowhere.error_message or "")
    assert google_identity.GOOGLE_CLOUD_OAUTH_SCOPE.startswith("https://")


# mistral


async def test_mistrals_thoughts_go_back_as_parts(server: Loopback):
    server.sse(mistral_answer())
    model = model_for("mistral-conversations", server.url)
    first = await ask(model)
    assert isinstance(first.content[0], Thinking)
    await ask(model, context(user_message("a"), first, user_message("b")))
    body = server.requests[-1].json
    assistant = next(item for item in body["messages"] if item.get("tool_calls"))
    assert assistant["content"][0] == {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "Let me see. "}],
    }
    assert server.requests[-1].target == "/v1/chat/completions" and "max_tokens" in body


async def test_mistrals_two_ways_to_think(server: Loopback):
    server.sse(mistral_answer())
    how = options(thinking="high")
    await ask(model_for("mistral-conversations", server.url, id="magistral-medium"), how=how)
    assert server.requests[-1].json["prompt_mode"] == "reasoning"
    levels = {"off": "none", "minimal": None, "low": None, "medium": None}
    model = model_for("mistral-conversations", server.url, thinking_level_map=levels)
    await ask(model, how=how)
    assert server.requests[-1].json["reasoning_effort"] == "high"
    await ask(model, how=options(thinking="off"))
    assert server.requests[-1].json["reasoning_effort"] == "none"


# bedrock


@needs_botocore
async def test_bedrock_signs_with_a_key_pair(server: Loopback, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    server.sse(ANSWERS["bedrock-converse-stream"]())
    model = model_for("bedrock-converse-stream", server.url, id="us.anthropic.claude-x:0")
    here = options(credential=Credential(env={"AWS_REGION": "eu-west-1"}), thinking="low")
    assert (await ask(model, how=here)).stop_reason == "toolUse"
    request = server.requests[0]
    assert request.target == "/model/us.anthropic.claude-x%3A0/converse-stream"
    authorization = request.headers["authorization"]
    assert (
        authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIATEST/")
        and "/eu-west-1/bedrock/" in authorization
    )
    assert "very-secret" not in str(request)
    body = request.json
    point = {"cachePoint": {"type": "default"}}
    assert (
        body["system"][-1] == body["toolConfig"]["tools"][-1] == body["messages"][-1]["content"][-1] == point
    )
    assert body["additionalModelRequestFields"]["thinking"] == {"type": "enabled", "budget_tokens": 2048}


@needs_botocore
async def test_bedrock_with_a_bearer_token_and_without_anything(
    server: Loopback, tmp_path: Path, monkeypatch
):
    server.sse(ANSWERS["bedrock-converse-stream"]())
    model = model_for("bedrock-converse-stream", server.url)
    await ask(model, how=options(key="bearer-key"))
    assert server.requests[0].headers["authorization"] == "Bearer bearer-key"
    assert "cachePoint" not in str(server.requests[0].json), "only for models that have it"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    message = await ask(model, how=options(credential=Credential()))
    assert "AWS credentials" in (message.error_message or "")


ASSUMED = b"""<AssumeRoleResponse><AssumeRoleResult><Credentials>
<AccessKeyId>ASIADEPUTY</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>for-a-while</SessionToken>
<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@needs_botocore
async def test_bedrock_with_a_profile_and_with_its_role(server: Loopback, tmp_path: Path, monkeypatch):
    (tmp_path / "config").write_text(
        "[profile plain]\nregion = eu-north-1\n[profile deputy]\nregion = eu-north-1\nsource_profile = plain\n"
        "role_arn = arn:aws:iam::123456789012:role/deputy\n"
    )
    (tmp_path / "keys").write_text("[plain]\naws_access_key_id = AKIAPLAIN\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    model = model_for("bedrock-converse-stream", server.url)

    def profile(name: str) -> StreamOptions:
        return options(credential=Credential(env={"AWS_PROFILE": name}))

    server.sse(ANSWERS["bedrock-converse-stream"]())
    assert (await ask(model, how=profile("plain"))).error_message is None
    signed = server.requests[-1].headers["authorization"]
    assert "AKIAPLAIN/" in signed and "/eu-north-1/bedrock/" in signed

    answer = Reply(body=ANSWERS["bedrock-converse-stream"]())
    server.reply(Reply(headers={"Content-Type": "text/xml"}, body=ASSUMED), answer)
    assert (await ask(model, how=profile("deputy"))).error_message is None
    assert b"role%2Fdeputy" in server.requests[-2].body
    headers = server.requests[-1].headers
    assert "ASIADEPUTY/" in headers["authorization"] and headers["x-amz-security-token"] == "for-a-while"

    lost = (await ask(model, how=profile("lost"))).error_message or ""
    assert "lost" in lost and "profile" in lost


@needs_botocore
async def test_bedrock_errors_in_the_stream(server: Loopback):
    text = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "half"}})
    server.sse(text + frame("throttlingException", {"message": "Slow down"}, kind="exception"))
    message = await ask(model_for("bedrock-converse-stream", server.url))
    assert (message.text, message.error_message) == ("half", "throttlingException: Slow down")
    assert message.diagnostics[0]["details"]["status"] == 429
    server.sse(text[:-2] + b"xx")
    assert "damaged" in ((await ask(model_for("bedrock-converse-stream", server.url))).error_message or "")


@needs_botocore
async def test_bedrock_replays_thoughts(server: Loopback):
    server.sse(ANSWERS["bedrock-converse-stream"]())
    model = model_for("bedrock-converse-stream", server.url)
    first = await ask(model)
    redacted = AssistantMessage(
        content=(Thinking(thinking="", thinking_signature="enc", redacted=True), Text(text="ok")),
        api=model.api,
        provider=model.provider,
        model=model.id,
    )
    await ask(model, context(user_message("a"), first, user_message("b"), redacted, user_message("c")))
    messages = server.requests[-1].json["messages"]
    reasoning = {"reasoningText": {"text": "Let me see. ", "signature": "sig-1"}}
    assert messages[1]["content"][0] == {"reasoningContent": reasoning}
    assert messages[3]["content"][0] == {"reasoningContent": {"redactedContent": "enc"}}


def test_without_botocore_bedrock_says_what_to_install_and_is_not_ready(tmp_path: Path):
    """In the real program: one sentence, and no traceback of what is loaded beforehand."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['botocore'] = None\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "AWS_BEARER_TOKEN_BEDROCK": "k"}
    model = "amazon-bedrock/amazon.nova-lite-v1:0"
    for words, code in (
        (("--no-session", "--model", model, "-p", "hi"), 6),
        (("auth", "check", "--provider", "amazon-bedrock"), 1),
        (("auth", "check", "--model", model), 1),
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "app", *words],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = done.stdout + done.stderr
        assert done.returncode == code and told.count("pip install 'bayou[bedrock]'") == 1, told
        assert "Traceback" not in told and "exception" not in told and len(told.splitlines()) == 1
        assert "  ready" not in told
