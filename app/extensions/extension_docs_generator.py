"""Generates the tables of docs/extensions.md from the hooks and the API.

python -m app.extensions.extension_docs_generator          writes them into the page
"""

import inspect
import re
from pathlib import Path
from typing import Any

from app.extensions.api import ExtensionApi
from app.extensions.handler_contexts import CommandContext, Context, ToolCallContext
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS, hook_definition_named
from app.extensions.ui_protocol import Ui
from app.resources.text_files import read_text, write_text

EXTENSIONS_DOCS_PAGE = "docs/extensions.md"


def fill_generated_docs_parts(page: str) -> str:
    """Returns the page with every generated part up to date."""
    parts = {
        "hooks": hooks_markdown_table(),
        "events": events_markdown_table(),
        "api": methods_markdown_table(ExtensionApi, "api"),
        "context": methods_markdown_table(Context, "context"),
        "tool-context": methods_markdown_table(ToolCallContext, "context"),
        "command-context": methods_markdown_table(CommandContext, "context"),
        "ui": methods_markdown_table(Ui, "context.ui"),
    }
    for name, text in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        page = pattern.sub(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
    return page


def hooks_markdown_table() -> str:
    lines = ["| Hook | Payload | May answer | |", "|---|---|---|---|"]
    for hook in HOOK_DEFINITIONS.values():
        fields = ", ".join(f"`{name}`" for name in hook.payload.__struct_fields__)
        answer = (
            ""
            if hook.answer is None
            else ", ".join(f"`{name}`" for name in hook.answer.__struct_encode_fields__)
        )
        gate = " **Gate**: a failing handler blocks." if hook.kind == "gate" else ""
        lines.append(f"| `{hook.name}` | {fields} | {answer} | {hook.help}{gate} |")
    return "\n".join(lines)


def events_markdown_table() -> str:
    lines = ["| Event | Payload | |", "|---|---|---|"]
    for name, event in SESSION_EVENTS.items():
        hook = hook_definition_named(name)
        assert hook is not None
        fields = ", ".join(
            f"`{field}`" for field in event.__struct_fields__ if field not in ("extra", "message_")
        )
        lines.append(f"| `{name}` | {fields} | {hook.help} |")
    return "\n".join(lines)


def methods_markdown_table(kind: Any, prefix: str) -> str:
    lines = ["| | |", "|---|---|"]
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            lines.append(f"| `{prefix}.{name}` | {_first_line(member.fget)} |")
        elif inspect.isfunction(member):
            wait = "await " if inspect.iscoroutinefunction(member) else ""
            lines.append(f"| `{wait}{prefix}.{name}({_parameter_names(member)})` | {_first_line(member)} |")
    return "\n".join(lines)


def _parameter_names(function: Any) -> str:
    shown: list[str] = []
    seen_star = False
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            seen_star = True
            shown.append("*")
        star = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(f"{star}{parameter.name}{default}")
    return ", ".join(shown).replace("|", "\\|")


def _first_line(function: Any) -> str:
    text = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def main() -> None:
    path = Path(__file__).resolve().parent.parent.parent / EXTENSIONS_DOCS_PAGE
    write_text(path, fill_generated_docs_parts(read_text(path) or ""))


if __name__ == "__main__":
    main()
