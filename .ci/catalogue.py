"""Makes the bundled list of models anew: `python .ci/catalogue.py [--into FOLDER] SOURCE…`.

A source is a JSON file, or a folder of them, in which model entries stand anywhere, in the words of models.json:
objects with `id`, `provider`, `api`, and what else is known. A provider's file in `app/providers/data/` is replaced by
what the sources say of it; providers that no source speaks of keep theirs. `test_catalogue.py` checks the result.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.providers.adapter_registry import ADAPTER_MODULE_BY_API  # noqa: E402
from app.providers.models.known_providers import KNOWN_PROVIDERS  # noqa: E402  (after the path)

DATA = ROOT / "app" / "providers" / "data"
FIELDS = (
    "id",
    "name",
    "api",
    "baseUrl",
    "reasoning",
    "thinkingLevelMap",
    "input",
    "inputLimits",
    "cost",
    "contextWindow",
    "maxTokens",
    "promptCache",
    "headers",
    "compat",
)
SHARED = ("api", "baseUrl", "compat", "headers")
NOT_OURS = frozenset(("user-agent", "editor-version", "editor-plugin-version", "copilot-integration-id"))
"""Headers in which a program names itself: bayou says its own name."""
NOT_ACTED_ON = frozenset(
    (
        "allowedFallbackModels",
        "supportsAdditionalTools",
        "supportsMidConvoEffort",
        "supportsMidConvoSystemMessages",
        "supportsMidConvoToolAdditions",
        "supportsMidConvoToolChanges",
        "supportsOpenAIGrammarTools",
        "supportsStrictTools",
        "supportsToolSearch",
    )
)
"""Switches for what bayou never sends."""
FIND_THEIR_PLACE = frozenset(("azure-openai-responses", "bedrock-converse-stream", "google-vertex"))
"""Apis whose address comes from a region or a resource."""
PLACES = {
    "github-copilot": "https://api.githubcopilot.com",  # for every plan
    "amazon-bedrock": "",  # from the region
    "google-vertex": "",  # from project and location
}
_PART = re.compile(r"\d+|[^\d\-_./:@ ]+")
_A_DATE = 1000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=DATA)
    parser.add_argument("sources", nargs="+", type=Path)
    given = parser.parse_args()
    by_provider: dict[str, dict[str, dict[str, Any]]] = {}
    passed_over: Counter[str] = Counter()
    for path in (file for source in given.sources for file in _files(source)):
        for entry in _models(json.loads(path.read_text(encoding="utf-8"))):
            provider, reason = entry["provider"], _unusable(entry)
            if reason:
                passed_over[f"{provider}: {reason}"] += 1
                continue
            by_provider.setdefault(provider, {})[entry["id"]] = _cleaned(entry)
    for provider, models in sorted(by_provider.items()):
        (given.into / f"{provider}.json").write_text(_file_text(list(models.values())), encoding="utf-8")
        print(f"{provider}: {len(models)}")
    for what, number in sorted(passed_over.items()):
        print(f"passed over {number} of {what}")
    return 0


def _files(source: Path) -> list[Path]:
    return sorted(source.glob("[!.]*.json")) if source.is_dir() else [source]


def _models(data: Any) -> Iterator[dict[str, Any]]:
    """Every model entry in the data, however deep."""
    if isinstance(data, dict):
        if all(isinstance(data.get(name), str) for name in ("id", "provider", "api")):
            yield data
            return
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from _models(item)


def _unusable(entry: dict[str, Any]) -> str:
    if entry["provider"] not in KNOWN_PROVIDERS:
        return "a provider that bayou does not know"
    if entry["api"] not in ADAPTER_MODULE_BY_API:
        return f"no adapter speaks {entry['api']}"
    if not entry.get("baseUrl") and entry["api"] not in FIND_THEIR_PLACE:
        return "without an address"
    if entry.get("type", "chat") != "chat" or "text" not in entry.get("input", ["text"]):
        return "not for conversations"
    return ""


def _cleaned(entry: dict[str, Any]) -> dict[str, Any]:
    out = {name: entry[name] for name in FIELDS if entry.get(name) not in (None, {}, [])}
    if entry["provider"] in PLACES:
        out["baseUrl"] = PLACES[entry["provider"]]
    headers = {name: text for name, text in out.pop("headers", {}).items() if name.lower() not in NOT_OURS}
    if headers:
        out["headers"] = headers
    limits = dict(out.pop("inputLimits", {}))
    images = {name: value for name, value in limits.pop("images", {}).items() if name != "resize"}
    if limits or images:
        out["inputLimits"] = {**limits, **({"images": images} if images else {})}
    compat = {name: value for name, value in out.pop("compat", {}).items() if name not in NOT_ACTED_ON}
    if compat:
        out["compat"] = compat
    cost = {name: value for name, value in out.pop("cost", {}).items() if value}
    if cost:
        out["cost"] = cost
    out["maxTokens"] = min(out.get("maxTokens", 16_384), out.get("contextWindow", 128_000))
    return out


def _file_text(models: list[dict[str, Any]]) -> str:
    """What most models say stands once, at the top; a model that differs says so itself."""
    models.sort(key=lambda model: _newest_first(model["id"]))
    shared: dict[str, Any] = {}
    for name in SHARED:
        texts = Counter(json.dumps(model.get(name), sort_keys=True) for model in models)
        value = json.loads(max(texts, key=lambda text: texts[text]))
        is_object = isinstance(value, dict)
        # Objects of the top are merged with a model's own, so only what nobody contradicts can be shared.
        if value and (not is_object or all(_holds(model.get(name), value) for model in models)):
            shared[name] = value
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}," for name, value in shared.items()]
    rows = [
        json.dumps(
            {
                name: model[name]
                for name in FIELDS
                if name in model and not (name in shared and shared[name] == model[name])
            },
            ensure_ascii=False,
        )
        for model in models
    ]
    return "\n".join(["{", *lines, '  "models": [', ",\n".join(f"    {row}" for row in rows), "  ]", "}", ""])


def _holds(own: Any, shared: dict[str, Any]) -> bool:
    return isinstance(own, dict) and all(own.get(name) == value for name, value in shared.items())


def _newest_first(model_id: str) -> list[tuple[int, int, str]]:
    """Higher versions before lower ones, a name before its variants, dates as mere text."""
    parts: list[tuple[int, int, str]] = []
    for part in _PART.findall(model_id.lower()):
        is_version = part.isdigit() and int(part) < _A_DATE
        parts.append((0, -int(part), "") if is_version else (2, 0, part))
    return [*parts, (1, 0, "")]


if __name__ == "__main__":
    sys.exit(main())
