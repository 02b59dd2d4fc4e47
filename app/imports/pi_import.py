"""Imports from pi: sessions, models, prompts, skills, and the settings that mean the same in bayou.

A plan lists everything, with the reason for what is not imported; the copying starts when the user
agrees. pi's folder is only read. The caller writes the settings."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.imports.file_copies import copy_atomically
from app.sessions.errors import system_error_text
from app.sessions.session_folders import read_session_header_or_none, session_files
from app.sessions.session_ids import session_folder_name
from app.values.codec import decode_json

PiImportItemKind = Literal["session", "models", "prompt", "skill", "setting", "other"]

SETTINGS_SHARED_WITH_PI = frozenset(
    [
        "defaultProvider",
        "defaultModel",
        "defaultThinkingLevel",
        "modelThinkingLevels",
        "enabledModels",
        "showCacheMissNotices",
        "thinkingBudgets.minimal",
        "thinkingBudgets.low",
        "thinkingBudgets.medium",
        "thinkingBudgets.high",
        "steeringMode",
        "followUpMode",
        "externalEditor",
        "doubleEscapeAction",
        "treeFilterMode",
        "defaultProjectTrust",
        "defaultTools",
        "compaction.reserveTokens",
        "compaction.keepRecentTokens",
        "compaction.modelOverrides",
        "branchSummary.reserveTokens",
        "branchSummary.skipPrompt",
        "httpProxy",
        "httpIdleTimeoutMs",
        "retry.enabled",
        "retry.maxRetries",
        "retry.baseDelayMs",
        "retry.maxAgentDelayMs",
        "shellPath",
        "shellCommandPrefix",
        "enableSkillCommands",
        "hideThinkingBlock",
        "quietStartup",
        "editorPaddingX",
        "autocompleteMaxVisible",
        "fullscreenExitOutput",
        "fullscreenScrollbar",
        "fullscreenCopyOnSelect",
        "fullscreenWheelScrollLines",
        "markdown.mermaid",
        "images.autoResize",
        "images.blockImages",
        "terminal.hyperlinks",
    ]
)
"""Settings with the same name and meaning in both programs."""

_REASON_BY_SKIPPED_PI_FILE = {
    "auth.json": "keys and sign-ins are not copied; sign in again with /login",
    "trust.json": "trust decisions are not copied; bayou asks again for each project",
    "keybindings.json": "key names differ; see /hotkeys and docs/keys.md",
    "mcp.json": "MCP servers are not copied; use bayou mcp import pi",
    "extensions": "pi's extensions are TypeScript, but bayou's are Python",
    "themes": "themes have a different format",
    "SYSTEM.md": "a system prompt fits one program; copy it by hand if it suits",
    "APPEND_SYSTEM.md": "a system prompt fits one program; copy it by hand if it suits",
}


class PiImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a pi user's configuration that can be imported, or the reason why not."""

    kind: PiImportItemKind
    name: str
    source: Path
    target: Path | None = None
    value: Any = None
    refused: str | None = None
    """Why the item is not imported; None: it will be."""

    @property
    def is_taken(self) -> bool:
        return self.refused is None


def plan_pi_import(pi_dir: Path, agent_dir: Path, sessions_root: Path) -> list[PiImportItem]:
    """Lists what a pi user's agent folder contains. Writes nothing."""
    items = [
        _without_outer_link(pi_dir, item)
        for item in (
            *_session_items(pi_dir / "sessions", sessions_root),
            *_file_items("models", pi_dir / "models.json", agent_dir / "models.json"),
            *_prompt_items(pi_dir / "prompts", agent_dir / "prompts"),
            *_skill_items(pi_dir / "skills", agent_dir / "skills"),
            *_setting_items(pi_dir / "settings.json", agent_dir / "settings.json"),
        )
    ]
    for name, why in _REASON_BY_SKIPPED_PI_FILE.items():
        if (pi_dir / name).exists():
            items.append(PiImportItem(kind="other", name=name, source=pi_dir / name, refused=why))
    return items


def _without_outer_link(pi_dir: Path, item: PiImportItem) -> PiImportItem:
    """Refuses a link out of pi's folder: a copy of its target, a key for example, would be shown to the agent."""
    if item.refused or Path(os.path.realpath(item.source)).is_relative_to(os.path.realpath(pi_dir)):
        return item
    why = f"is a link to {os.path.realpath(item.source)}; copy that by hand"
    return msgspec.structs.replace(item, refused=why)


def run_pi_import(items: list[PiImportItem], set_setting: Callable[[str, Any], None]) -> list[PiImportItem]:
    """Copies the items of the plan that can be imported; returns the items with their outcome.

    `set_setting(name, value)` raises `ValueError` with the reason when a value is invalid."""
    return [_copy_item(item, set_setting) if item.is_taken else item for item in items]


def _copy_item(item: PiImportItem, set_setting: Callable[[str, Any], None]) -> PiImportItem:
    try:
        if item.kind == "setting":
            set_setting(item.name, item.value)
        elif item.target is not None:
            copy_atomically(item.source, item.target)
    except ValueError as problem:
        return msgspec.structs.replace(item, refused=str(problem))
    except OSError as problem:
        return msgspec.structs.replace(item, refused=f"could not be copied: {system_error_text(problem)}")
    return item


def _session_items(root: Path, target_root: Path) -> list[PiImportItem]:
    mine = {entry.name for entry in session_files(target_root)}
    items: list[PiImportItem] = []
    for entry in session_files(root):
        path = Path(entry.path)
        header = read_session_header_or_none(path)
        folder = (
            path.parent.name
            if path.parent != root
            else session_folder_name(Path(header.cwd if header else ""))
        )
        refused = None
        if header is None:
            refused = "is not a session file, or its first line is damaged"
        elif path.name in mine:
            refused = "is already here"
        items.append(
            PiImportItem(
                kind="session",
                name=path.name,
                source=path,
                target=target_root / folder / path.name,
                refused=refused,
            )
        )
    return sorted(items, key=lambda item: item.name)


def _file_items(kind: PiImportItemKind, source: Path, target: Path) -> list[PiImportItem]:
    if not source.is_file():
        return []
    refused = f"{target} already exists; merge the two by hand" if target.exists() else None
    return [PiImportItem(kind=kind, name=source.name, source=source, target=target, refused=refused)]


def _prompt_items(source: Path, target: Path) -> list[PiImportItem]:
    return [
        item
        for path in _list_folder(source)
        if path.suffix == ".md"
        for item in _file_items("prompt", path, target / path.name)
    ]


def _skill_items(source: Path, target: Path) -> list[PiImportItem]:
    items: list[PiImportItem] = []
    for path in _list_folder(source):
        if not (path / "SKILL.md").is_file() and path.suffix != ".md":
            continue
        refused = "a skill of that name already exists here" if (target / path.name).exists() else None
        items.append(
            PiImportItem(
                kind="skill", name=path.name, source=path, target=target / path.name, refused=refused
            )
        )
    return items


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _setting_items(source: Path, target: Path) -> list[PiImportItem]:
    if not source.is_file():
        return []
    theirs, mine = _read_json(source), _read_json(target) if target.exists() else {}
    if theirs is None:
        return [PiImportItem(kind="setting", name=source.name, source=source, refused="is not JSON")]
    if mine is None:
        why = f"{target} is not plain JSON; copy the settings by hand"
        return [PiImportItem(kind="setting", name=source.name, source=source, refused=why)]
    items: list[PiImportItem] = []
    here = _flatten(mine)
    for name, value in sorted(_flatten(theirs).items()):
        if name == "compaction.enabled":
            name, value = "compaction.mode", "auto" if value else "off"
        elif name not in SETTINGS_SHARED_WITH_PI:
            why = "has no equivalent setting"
            items.append(PiImportItem(kind="setting", name=name, source=source, value=value, refused=why))
            continue
        refused = "is already set here" if name in here else None
        items.append(PiImportItem(kind="setting", name=name, source=source, value=value, refused=refused))
    return items


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        data = decode_json(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return data if isinstance(data, dict) else None


def _flatten(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens `{"a": {"b": 1}}` to `{"a.b": 1}`; an object that is itself a known setting stays whole."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        name = prefix + key
        if isinstance(value, dict) and name not in SETTINGS_SHARED_WITH_PI:
            found.update(_flatten(value, f"{name}."))
        else:
            found[name] = value
    return found
