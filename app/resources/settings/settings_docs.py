"""Generates the settings' reference page and JSON Schema from the settings.

python -m app.resources.settings.settings_docs          write docs/settings.md and
docs/settings.schema.json"""

import json
from pathlib import Path
from typing import Any

import msgspec

from app.resources.settings.settings import SettingKey, Settings, all_setting_keys
from app.resources.text_files import write_text

SETTINGS_PAGE_FILE = "docs/settings.md"
SETTINGS_SCHEMA_FILE = "docs/settings.schema.json"

_SETTING_TYPE_NAMES = {"boolean": "true or false", "integer": "whole number", "string": "text"}
_SETTINGS_PAGE_INTRODUCTION = """# Settings

Every setting, for looking it up; `/settings` shows and changes them. A short `settings.json`:

```json
{
  // a short file
  "theme": "bayou-dark",
  "defaultThinkingLevel": "high",
  "bash": { "autoBackground": { "thresholdMs": 20000 } }
}
```

bayou reads `~/.bayou/agent/settings.json` (or `settings.json` in `BAYOU_AGENT_DIR`), then `.bayou/settings.json` of
the project once the project is trusted. A project's value overrides the global one; lists marked *adds up* are
joined; keys marked *global only* are ignored in a project. Both files are JSON with `//` and `/* */` comments and
trailing commas. For an invalid value bayou reports the line and uses the default; an unknown key is reported and
kept. bayou notices changes of the files by itself. `/settings` writes single keys: the rest of the file, comments
included, stays unchanged. There `•` marks values that differ from the default, and Delete takes a value out of your
file again.

Generated from `app/resources/settings/` by `python -m app.resources.settings.settings_docs`; a test compares the two.
"""


def settings_page_text() -> str:
    """Returns the content of docs/settings.md."""
    lines = [_SETTINGS_PAGE_INTRODUCTION]
    table = all_setting_keys()
    for field in msgspec.structs.fields(Settings):
        own = [key for key in table if key.attributes[0] == field.name]
        lines.append(f"## {own[0].group}\n")
        lines.append(f"{(field.type.__doc__ or '').strip()}\n")
        lines.append("| Key | Values | Default | Meaning |\n|---|---|---|---|")
        lines += map(_setting_row, own)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def settings_schema_text() -> str:
    """Returns the content of docs/settings.schema.json."""
    root: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bayou settings",
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
    }
    definitions: dict[str, Any] = {}
    for key in all_setting_keys():
        described, more = msgspec.json.schema_components([key.type], ref_template="#/$defs/{name}")
        definitions.update(more)
        here = root
        for part in key.path[:-1]:
            here = here["properties"].setdefault(part, {"type": "object", "properties": {}})
        here["properties"][key.path[-1]] = {**described[0], "default": key.default}
    if definitions:
        root["$defs"] = definitions
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


def _setting_row(key: SettingKey) -> str:
    marks = [
        text
        for is_set, text in (
            (key.is_global_only, "*global only*"),
            (key.is_merged_list, "*adds up*"),
            (key.runs, "*needs trust*"),
        )
        if is_set
    ]
    meaning = " ".join([key.description, *marks]).replace("|", "\\|")
    default = json.dumps(key.default, ensure_ascii=False)
    return f"| `{key.name}` | {_values_text(key)} | `{default}` | {meaning} |"


def _values_text(key: SettingKey) -> str:
    described = msgspec.json.schema_components([key.type])[0][0]
    return _schema_in_words(described).replace("|", "\\|")


def _schema_in_words(described: dict[str, Any]) -> str:
    if "anyOf" in described:
        return " or ".join(_schema_in_words(part) for part in described["anyOf"])
    if "enum" in described:
        return ", ".join("null" if value is None else f"`{value}`" for value in described["enum"])
    kind = described.get("type", "object")
    if kind == "array":
        items = described.get("items")
        return f"list of {_schema_in_words(items)}" if isinstance(items, dict) else "list"
    if kind == "object":
        inner = described.get("additionalProperties")
        return (
            f"object of {_schema_in_words(inner)}"
            if isinstance(inner, dict) and "$ref" not in inner
            else "object"
        )
    words = _SETTING_TYPE_NAMES.get(str(kind), str(kind))
    low, high = described.get("minimum"), described.get("maximum")
    if low is not None and high is not None:
        return f"{words} {low} to {high}"
    return f"{words} from {low}" if low is not None else words


def main() -> None:
    home = Path(__file__).resolve().parents[3]
    write_text(home / SETTINGS_PAGE_FILE, settings_page_text())
    write_text(home / SETTINGS_SCHEMA_FILE, settings_schema_text())


if __name__ == "__main__":
    main()
