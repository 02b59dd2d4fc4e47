"""Which models there are: bundled data, models.json and its faults, extensions, and names that people type."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli.list_models import models_table
from app.printing import safe_text
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.model_names import ModelNotFound, select_model, select_models
from app.providers.models.thinking import (
    clamp_thinking_level,
    provider_name_of_thinking_level,
    supported_thinking_levels,
)


def write(folder: Path, text: str | dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    body = text if isinstance(text, str) else json.dumps(text, indent=2)
    (folder / "models.json").write_text(body, encoding="utf-8")


def load(folder: Path, **env: str) -> ModelCatalogue:
    return ModelCatalogue.load_catalogue(folder, env=env)


class OnlyTheNamed(ModelCatalogue):
    """Listing all models reads the lists of all providers."""

    def models(self):
        raise AssertionError("the lists of all providers were read")


@pytest.mark.parametrize(
    "name", ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5:high", "mine/small"]
)
def test_a_model_that_is_named_with_its_provider_is_found_in_one_list(name: str, tmp_path: Path):
    write(
        tmp_path,
        {"providers": {"mine": {"baseUrl": "http://localhost:1/v1", "api": "openai-completions", "apiKey": "k",
                                "models": [{"id": "small"}]}}},
    )  # fmt: skip
    found = select_model(name, OnlyTheNamed.load_catalogue(tmp_path, env={}), Credentials(tmp_path, {}))
    assert found.model.key == name.removesuffix(":high")


def test_every_bundled_model_is_whole(tmp_path: Path):
    catalogue = load(tmp_path)
    models = catalogue.all_models()
    assert catalogue.models_file_problems == ()
    assert len({model.key for model in models}) == len(models) > 1500
    for model in models:
        assert model.context_window >= model.max_tokens > 0, model.key
        assert model.api and (model.base_url or model.api in NO_ADDRESS), model.key
        assert set(model.input) <= {"text", "image"} and "text" in model.input, model.key
        assert min(model.cost.input, model.cost.output, model.cost.cache_read, model.cost.cache_write) >= 0
        assert supported_thinking_levels(model)


@pytest.mark.parametrize("provider", ["openai", "openai-codex", "github-copilot", "azure"])
@pytest.mark.parametrize("name", ["gpt-6.2-astra", "gpt-6.2-sol"])
def test_a_model_that_always_thinks_is_never_asked_for_no_or_minimal_thinking(
    provider: str, name: str, tmp_path: Path
):
    model = select_model(
        f"{provider}/{name}", OnlyTheNamed.load_catalogue(tmp_path, env={}), Credentials(tmp_path, {})
    ).model
    assert "off" not in supported_thinking_levels(model)
    assert provider_name_of_thinking_level(model, clamp_thinking_level(model, "off")) == "low"
    assert provider_name_of_thinking_level(model, clamp_thinking_level(model, "minimal")) == "low"
    assert supported_thinking_levels(model)[-2:] == ("xhigh", "max")


NO_ADDRESS = {"offline", "azure-openai-responses", "bedrock-converse-stream", "google-vertex"}


def test_every_known_provider_has_its_default_model(tmp_path: Path):
    catalogue = load(tmp_path)
    for provider in KNOWN_PROVIDERS.values():
        if provider.id not in NO_MODELS:
            model = catalogue.default_model(provider.id)
            assert model is not None and model.id == provider.default_model


NO_MODELS = {"radius"}
"""A gateway with a wire format that no adapter speaks: its models are those that models.json names."""


def test_the_script_makes_a_data_file_out_of_any_list(tmp_path: Path):
    shared = {"provider": "groq", "api": "openai-completions", "baseUrl": "https://g.example/v1"}
    compat = {"supportsStore": False}
    entries = {
        "openai-completions": {
            "a": {**shared, "id": "tiny-2", "contextWindow": 1000, "maxTokens": 5000, "compat": compat},
            "b": {**shared, "id": "tiny-10", "compat": compat, "headers": {"User-Agent": "another/1"}},
            "c": {**shared, "id": "tiny-10-mini", "baseUrl": "https://other.example", "compat": compat},
            "d": {**shared, "id": "painter", "type": "image"},
        },
        "spoken-by-nobody": [{**shared, "id": "odd", "api": "spoken-by-nobody"}],
    }
    (tmp_path / "list.json").write_text(json.dumps(entries))
    (tmp_path / "data").mkdir()
    script = Path(__file__).parents[2] / ".ci" / "catalogue.py"
    command = [sys.executable, script, "--into", tmp_path / "data", tmp_path / "list.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "groq: 3",
        "passed over 1 of groq: no adapter speaks spoken-by-nobody",
        "passed over 1 of groq: not for conversations",
    ]
    made = json.loads((tmp_path / "data" / "groq.json").read_text())
    assert (made["baseUrl"], made["compat"]) == ("https://g.example/v1", compat)
    assert [model["id"] for model in made["models"]] == ["tiny-10", "tiny-10-mini", "tiny-2"]
    assert made["models"][0] == {"id": "tiny-10", "maxTokens": 16_384}
    assert made["models"][2]["maxTokens"] == 1000, "no more than the window"


def test_a_provider_of_ones_own_with_comments(tmp_path: Path):
    write(
        tmp_path,
        """{
          // a server on this machine
          "providers": {
            "mine": {
              "baseUrl": "http://localhost:8080/v1", "api": "openai-completions",
              "compat": {"supportsStore": false}, /* old */
              "models": [{"id": "tiny", "contextWindow": 8192, "reasoning": true, "cost": {"input": 1}},],
            },
          },
        }""",
    )
    catalogue = load(tmp_path)
    assert catalogue.models_file_problems == ()
    model = catalogue.find_model("mine", "tiny")
    assert model is not None
    assert (model.name, model.context_window, model.max_tokens) == ("tiny", 8192, 8192), (
        "never more than its window"
    )
    assert (model.base_url, model.compat) == ("http://localhost:8080/v1", {"supportsStore": False})
    assert Credentials(tmp_path, {}).has_credential("mine"), "no key named: none is needed"


def test_a_server_of_ones_own_needs_no_list_of_its_models(tmp_path: Path):
    mine = {"baseUrl": "http://localhost:11434/v1", "api": "openai-completions", "compat": {"a": 1}}
    write(tmp_path, {"providers": {"mine": mine, "openai": {}}})
    catalogue = load(tmp_path)
    assert catalogue.providers_without_listed_models == ("mine",)
    picked = select_model("mine/llama3.2:3b:high", catalogue, Credentials(tmp_path, {}))
    model = picked.model
    assert (model.key, model.api, model.base_url) == ("mine/llama3.2:3b", mine["api"], mine["baseUrl"])
    assert (
        model.compat == {"a": 1}
        and picked.thinking == "high"
        and "asked for as it is" in (picked.warning or "")
    )


def test_bundled_models_can_be_changed_replaced_and_added(tmp_path: Path):
    own = {
        "baseUrl": "https://proxy.example/v1",
        "compat": {"a": 1},
        "models": [{"id": "new-one", "contextWindow": 5000, "maxTokens": 100}],
        "modelOverrides": {"claude-opus-5-5": {"maxTokens": 77, "cost": {"input": 9.0}, "compat": {"b": 2}}},
    }
    before = load(tmp_path).find_model("anthropic", "claude-opus-5-5")
    write(tmp_path, {"providers": {"anthropic": own}})
    catalogue = load(tmp_path)
    changed = catalogue.find_model("anthropic", "claude-opus-5-5")
    new = catalogue.find_model("anthropic", "new-one")
    assert before and changed and new
    assert (changed.base_url, changed.max_tokens, changed.cost.input) == ("https://proxy.example/v1", 77, 9.0)
    assert changed.cost.output == before.cost.output
    assert (changed.compat or {})["a"] == 1 and (changed.compat or {})["b"] == 2
    assert (new.api, new.base_url, new.context_window) == (
        "anthropic-messages",
        "https://proxy.example/v1",
        5000,
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{\n  "providers": {\n    "x": oops\n  }\n}', 3, 10, "a value is missing here"),
        ('{\n  "providers": {\n    "x": 5\n  }\n}', 3, 10, "an object is needed"),
        ('{\n  "providers": {\n    "x": {"baseUrl": 5}\n  }\n}', 3, 22, "`baseUrl` must be a text"),
        ('{"providers": {"x": {"baseUrl": "u"}}}', 1, 21, "needs `baseUrl` and `api`"),
        (
            '{"providers": {"openai": {"models": [{"id": "a"},\n {"id": "b", "maxTokens": "many"}]}}}',
            2,
            27,
            "`maxTokens` must be a whole number",
        ),
        ('{"providers": {"openai": {"models": [\n{"name": "b"}]}}}', 2, 1, "a text `id`"),
        ("[]", 1, 1, "the top level must be a JSON object"),
    ],
)
def test_a_broken_models_json_is_reported_with_its_place_and_left_alone(
    tmp_path: Path, text: str, line: int, column: int, words: str
):
    write(tmp_path, text)
    catalogue = load(tmp_path)
    assert len(catalogue.all_models()) > 100, "bayou still starts"
    (problem,) = catalogue.models_file_problems
    assert f"models.json, line {line}, column {column}: " in problem and words in problem
    assert (tmp_path / "models.json").read_text() == text


def test_a_models_json_that_is_not_text_is_reported(tmp_path: Path):
    (tmp_path / "models.json").write_bytes(b'{\n "a": \xff}')
    assert "line 2, column 7: it is not UTF-8" in load(tmp_path).models_file_problems[0]


def test_an_extensions_provider_comes_and_goes(tmp_path: Path):
    catalogue = load(tmp_path)
    entry = {"baseUrl": "http://x", "api": "openai-completions", "models": [{"id": "m"}]}
    catalogue.add_provider("ext", entry, owner="e")
    assert catalogue.find_model("ext", "m") is not None
    catalogue.remove_extension_entries("e")
    assert catalogue.find_model("ext", "m") is None and "ext" not in catalogue.provider_ids


@pytest.fixture
def catalogue(tmp_path: Path) -> ModelCatalogue:
    def models(*ids: str) -> list[dict[str, Any]]:
        return [{"id": model_id, "reasoning": True} for model_id in ids]

    shared = {"baseUrl": "http://x", "api": "openai-completions", "apiKey": "$NO_SUCH_KEY"}
    write(
        tmp_path,
        {
            "providers": {
                "acme": {**shared, "models": models("rocket-2-20260101", "rocket-2", "rocket-1", "sled:7b")},
                "resale": {**shared, "apiKey": "k", "models": models("acme/rocket-2", "sled:7b", "boat")},
                "third": {**shared, "models": models("boat", "canoe-large")},
                "fourth": {**shared, "models": models("canoe-large")},
            }
        },
    )
    return load(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "key", "level"),
    [
        ("acme/rocket-1", "acme/rocket-1", None),
        ("rocket-1", "acme/rocket-1", None),
        ("rocket-1:high", "acme/rocket-1", "high"),
        ("ROCKET-1:Low", "acme/rocket-1", "low"),
        ("acme/rocket", "acme/rocket-2", None),
        ("acme/sled:7b:max", "acme/sled:7b", "max"),
        ("sled:7b", "resale/sled:7b", None),
        ("boat", "resale/boat", None),
        ("acme/rocket-2", "acme/rocket-2", None),
        ("resale/acme/rocket-2", "resale/acme/rocket-2", None),
        ("third/cano", "third/canoe-large", None),
        ("large third", None, None),
    ],
)
def test_names_that_people_type(
    pattern: str, key: str | None, level: str | None, catalogue: ModelCatalogue, tmp_path: Path
):
    credentials = Credentials(tmp_path, {})
    if key is None:
        with pytest.raises(ModelNotFound):
            select_model(pattern, catalogue, credentials)
        return
    selection = select_model(pattern, catalogue, credentials)
    assert (selection.model.key, selection.thinking, selection.warning) == (key, level, None)


def test_a_name_that_several_have_and_no_key_tells_which(catalogue: ModelCatalogue, tmp_path: Path):
    with pytest.raises(ModelNotFound) as caught:
        select_model("canoe", catalogue, Credentials(tmp_path, {}))
    assert [model.key for model in caught.value.candidates] == ["third/canoe-large", "fourth/canoe-large"]
    assert "fourth/canoe-large" in str(caught.value)
    assert select_model("canoe", catalogue, Credentials(tmp_path, {}), "fourth").model.provider == "fourth"


def test_a_wrong_name_lists_what_is_near(catalogue: ModelCatalogue, tmp_path: Path):
    with pytest.raises(ModelNotFound) as caught:
        select_model("rokcet-1", catalogue, Credentials(tmp_path, {}))
    assert "acme/rocket-1" in str(caught.value)


def test_a_model_newer_than_the_catalogue_is_used_with_a_notice(tmp_path: Path):
    selection = select_model("anthropic/zzz-9:high", load(tmp_path), Credentials(tmp_path, {}))
    assert (selection.model.key, selection.model.api) == ("anthropic/zzz-9", "anthropic-messages")
    assert selection.thinking == "high" and selection.model.cost.input == 0
    assert "not in the list" in (selection.warning or "")


def test_a_scope_may_use_wildcards(catalogue: ModelCatalogue, tmp_path: Path):
    credentials = Credentials(tmp_path, {})
    keys = [model.key for model in select_models(["resale/*", "rocket-1", "nothing"], catalogue, credentials)]
    assert keys == ["resale/acme/rocket-2", "resale/sled:7b", "resale/boat", "acme/rocket-1"]
    assert select_models([], catalogue, credentials) == ()
    with pytest.raises(ModelNotFound):
        select_models(["nothing-like-it"], catalogue, credentials)


def test_the_list_of_models(catalogue: ModelCatalogue, tmp_path: Path):
    credentials = Credentials(tmp_path, {})
    header, *rows = models_table(catalogue, credentials)
    assert header.split()[:2] == ["provider", "model"]
    assert [row.split()[1] for row in rows] == ["acme/rocket-2", "sled:7b", "boat", "guide"]
    assert len(models_table(catalogue, credentials, "rocket")) == 1 + 4
    assert models_table(catalogue, credentials, "no such") == ["No model matches 'no such'."]


def test_names_with_control_characters_do_not_move_columns(tmp_path: Path):
    (tmp_path / "models.json").write_text(
        '{"providers": {"odd": {"baseUrl": "http://x", "apiKey": "k", "api": "openai-completions",'
        ' "models": [{"id": "a\\u001b[31m\\u202eb"}, {"id": "plain"}]}}}'
    )
    lines = models_table(load(tmp_path), Credentials(tmp_path, {}), "odd")
    assert [safe_text(line) for line in lines] == lines
    assert len({line.index("  128k") for line in lines[1:]}) == 1
