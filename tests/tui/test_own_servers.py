"""A server of one's own: connected from inside the program, and `models.json` read again when it changes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.providers.models.server_address import complete_model_server_address, provider_name_for_address
from app.values.user_errors import UserError
from tests.support.model_server import ModelServer, model_server
from tests.support.terminals import WRITTEN_NOTHING, Terminal, terminal


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as served:
        yield served


@pytest.fixture
def agent_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    return folder


@pytest.fixture
def shown(tmp_path: Path, agent_dir: Path) -> Iterator[Terminal]:
    with terminal(tmp_path, size=(120, 30), env={"BAYOU_AGENT_DIR": str(agent_dir)}) as opened:
        opened.until(WRITTEN_NOTHING)
        yield opened


def asked_for_an_address(shown: Terminal) -> None:
    """Finds the row of other servers by a word, and chooses it."""
    shown.press("/login\r")
    shown.until("Connect a provider")
    shown.press("ollama")
    shown.until("Another server…")
    shown.press("\r")
    shown.until("Address of the server")
    shown.press("\x15")


def test_a_local_server_is_found_connected_and_answers(
    shown: Terminal, server: ModelServer, agent_dir: Path
) -> None:
    asked_for_an_address(shown)
    shown.press(f"{server.url}\r")
    shown.until("Model of ")
    shown.press("barge\r")
    shown.until("Model: 127-0-0-1/barge")
    shown.press("ahoy\r")
    shown.until("Aye.")
    assert server.requests[-1]["model"] == "barge"
    written = json.loads((agent_dir / "models.json").read_text())
    assert written == {
        "providers": {"127-0-0-1": {"baseUrl": f"{server.url}/v1", "api": "openai-completions"}}
    }


def test_a_server_that_wants_a_key_is_given_one_which_is_not_in_models_json(
    shown: Terminal, server: ModelServer, agent_dir: Path
) -> None:
    server.key, server.models = "sk-harbour", ["tug"]
    kept = '{"providers": {"work": {"baseUrl": "https://work.test/v1", "api": "openai-completions"}} // mine\n}\n'
    (agent_dir / "models.json").write_text(kept)
    asked_for_an_address(shown)
    shown.press(f"{server.url}/v1/chat/completions\r")
    shown.until("The server requires a key.")
    shown.press("sk-wrong\r")
    shown.until("The server rejected this key")
    shown.press("sk-harbour\r")
    shown.until("Model: 127-0-0-1/tug")
    written = (agent_dir / "models.json").read_text()
    assert "// mine" in written and "work.test" in written and server.url in written
    assert "sk-harbour" not in written and "sk-harbour" in (agent_dir / "auth.json").read_text()


def test_an_address_that_does_not_answer_can_be_corrected(
    shown: Terminal, server: ModelServer, agent_dir: Path
) -> None:
    asked_for_an_address(shown)
    shown.press("http://harbour.example/v1\r")
    shown.until("is not a private address")
    shown.press("\x15127.0.0.1:9\r")
    shown.until("Start the server")
    shown.press("\x1b")
    shown.until(WRITTEN_NOTHING)
    assert not (agent_dir / "models.json").exists()


def test_models_json_is_read_again_when_it_changes(
    shown: Terminal, server: ModelServer, agent_dir: Path
) -> None:
    file = agent_dir / "models.json"
    shown.press("/model lugger\r")
    shown.until(f"your own are in {file}")

    def write(*models: str, url: str = f"{server.url}/v1") -> None:
        entry = {"baseUrl": url, "api": "openai-completions", "models": [{"id": name} for name in models]}
        file.write_text(json.dumps({"providers": {"shed": entry}}))

    write("lugger", url="http://127.0.0.1:9/v1")
    shown.press("/model lugger\r")
    shown.until("Model: shed/lugger")
    write("lugger", "ketch")  # the address is another now
    shown.press("ahoy\r")
    shown.until("Aye.")
    shown.press("/model\r")
    shown.until("ketch")
    shown.press("\x1b")
    shown.until(lambda: "ketch" not in shown.screen)
    file.write_text('{"providers": {"shed": ')
    shown.press("/reload\r")
    shown.until("models.json, line 1")
    shown.press("/model shed/k")
    shown.until("shed/ketch")
    shown.press("\r")  # the name is unique: one key runs the command
    shown.until("Model: shed/ketch")
    shown.press("/model ketch and more\r")
    shown.until("No model is called 'ketch and more'")
    shown.press("and again\r")
    shown.until(lambda: shown.screen.count("Aye.") == 2)
    assert [one["model"] for one in server.requests] == ["lugger", "ketch"]


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:11434", "http://localhost:11434/v1"),
        ("http://192.168.1.4:8000/v1/", "http://192.168.1.4:8000/v1"),
        ("nas:1234", "http://nas:1234/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("llm.example.com/api", "https://llm.example.com/api"),
        ("https://llm.example.com/v1/models", "https://llm.example.com/v1"),
    ],
)
def test_an_address_is_completed(typed: str, address: str) -> None:
    assert complete_model_server_address(typed) == address


@pytest.mark.parametrize(
    "typed", ["", "http://", "ftp://localhost", "http://llm.example.com", "http://8.8.8.8", "http://a b",
              "localhost:99999", "http://me:key@localhost", "http://localhost/v1?key=1", "http://[::1"],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(typed: str) -> None:
    with pytest.raises(UserError):
        complete_model_server_address(typed)


def test_a_server_is_named_after_its_program_and_never_like_another() -> None:
    assert provider_name_for_address("http://localhost:11434/v1", ["anthropic"]) == "ollama"
    assert provider_name_for_address("http://localhost:11434/v1", ["ollama", "ollama-2"]) == "ollama-3"
    assert provider_name_for_address("https://llm.example.com:8000/v1", []) == "llm-example-com"
