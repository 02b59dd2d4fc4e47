"""Implements `bayou import-pi [--from DIR] [--yes]`: imports a pi user's configuration, after showing what
would be imported."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.confirm import confirm
from app.imports.pi_import import PiImportItem, plan_pi_import, run_pi_import
from app.printing import print_line, print_text
from app.resources.paths import BayouPaths
from app.resources.settings.settings_file import SettingRefused, write_setting_to_file
from app.resources.trust.project_items import programs_and_addresses_in_json
from tools.text_sanitizing import reveal_hidden_characters

IMPORT_PI_USAGE_TEXT = (
    "usage: bayou import-pi [--from DIR] [--yes]\n\nLists what can be copied from pi "
    "(sessions, models, prompts, skills, settings), what cannot and why, then asks.\npi's "
    "own files are not changed.\n\n  --from DIR  pi's folder, if it is not ~/.pi/agent\n  "
    "--yes       copy without asking\n"
)


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(IMPORT_PI_USAGE_TEXT)
        return 0
    paths = BayouPaths.from_env(os.environ, current_folder())
    source, agrees = _parse_arguments(words, paths)
    items = plan_pi_import(source, paths.agent_dir, paths.sessions_dir)
    if not items:
        raise UsageError(f"{source} has no pi files. Name pi's folder with --from DIR.")
    for item in items:
        print_line(_item_line(item))
    taken = [item for item in items if item.is_taken]
    if not taken:
        print_line("There is nothing to import.")
        return 0
    if not agrees and not _confirm_import(len(taken)):
        return 1

    def set_setting(name: str, value: Any) -> None:
        try:
            write_setting_to_file(paths.settings_file, name, value)
        except SettingRefused as problem:
            raise ValueError(str(problem)) from problem

    for item in run_pi_import(items, set_setting):
        if item.refused and item.name in {one.name for one in taken}:
            print_line(_item_line(item))
    print_line(f"Imported into {paths.agent_dir}.")
    return 0


def _parse_arguments(words: list[str], paths: BayouPaths) -> tuple[Path, bool]:
    rest, source, agrees = list(words), paths.home / ".pi" / "agent", False
    while rest:
        word = rest.pop(0)
        if word == "--yes":
            agrees = True
        elif word == "--from" and rest:
            source = Path(rest.pop(0)).expanduser()
        else:
            raise UsageError(f"Unknown argument: {word}. bayou import-pi takes --from DIR and --yes.")
    return source, agrees


def _item_line(item: PiImportItem) -> str:
    name = reveal_hidden_characters(item.name)
    if item.refused:
        return f"leave  {item.kind:<8} {name}  ({item.refused})"
    effect = reveal_hidden_characters(_item_effect(item))
    return f"take   {item.kind:<8} {name}{f': {effect}' if effect else ''}"


def _item_effect(item: PiImportItem) -> str:
    """What the item would change: a setting's value, the commands and addresses of models."""
    if item.kind == "setting":
        return json.dumps(item.value, ensure_ascii=False)
    return programs_and_addresses_in_json(item.source) if item.kind == "models" else ""


def _confirm_import(count: int) -> bool:
    if not sys.stdin.isatty():
        print_line("Nothing was copied. Add --yes to copy without confirmation.")
        return False
    return confirm(f"Copy these {count}?")
