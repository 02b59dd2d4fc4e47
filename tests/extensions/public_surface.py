"""What third parties may build on, as plain data: names, signatures, hooks, payloads, and what contexts hand out.

`public_surface.json` beside it is what it was when that was pinned. What stands there may be added to, and is taken
back or changed only on purpose, with the version of the API.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from app.extensions import public
from app.extensions.headless_ui import HeadlessUi
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from tests.extensions.extension_session import ExtensionSession

FILE = Path(__file__).with_suffix(".json")
UI = (
    "select", "confirm", "input", "editor", "custom", "notify", "set_status", "set_widget", "set_title", "set_header",
    "set_footer", "set_working", "editor_text", "set_editor_text", "paste", "set_tools_expanded", "tools_expanded",
    "themes", "theme", "set_theme", "set_editor", "on_terminal_input",
)  # fmt: skip
"""What every face has; there is more between a face and what shows extensions' views."""
JOBS = ("adopt", "all", "kill", "wait")
"""Of the table of jobs; the rest of it is the engine's own."""


def described() -> dict[str, Any]:
    """The names of `app.extensions.public` and of the hooks."""
    return {
        "version": public.API_VERSION,
        "names": {
            name: _of(value) for name, value in sorted(vars(public).items()) if not name.startswith("_")
        },
        "hooks": {
            name: {
                "kind": hook.kind,
                "is_slow": hook.is_slow,
                "fails_closed": hook.answer_on_failure is not None,
                "stops": hook.is_final_answer is not None,
                "payload": _fields(hook.payload),
                "answer": _fields(hook.answer) if hook.answer is not None else None,
            }
            for name, hook in sorted(HOOK_DEFINITIONS.items())
        },
        "session events": sorted(SESSION_EVENTS),
    }


async def handed_out(folder: Path) -> dict[str, Any]:
    """What an extension is given to call: its api, a context of each kind, and what these lead to."""
    found: dict[str, Any] = {}

    def looks(api: public.ExtensionApi) -> None:
        found["api"] = _members(type(api))

        @api.command("look")
        async def look(arguments: str, context: public.CommandContext) -> None:
            found["api.jobs"] = {name: _called(getattr(api.jobs, name)) for name in JOBS}
            found["api.events"] = _members(type(api.events))
            found["context.session"] = _members(type(context.session))
            found["context.ui"] = {
                name: _called(getattr(context.ui, name)) for name in dir(HeadlessUi) if name in UI
            }
            usage = context.context_usage()
            assert usage is not None
            found["context.context_usage()"] = list(type(usage).__struct_fields__)

    ext_session = ExtensionSession(folder)
    await ext_session.load(looks)
    await ext_session.harness.session.prompt("/look")
    return found


def _of(value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, msgspec.Struct):
        return {"fields": _fields(value), **_methods_of_struct(value)}
    if isinstance(value, type):
        return {"members": _members(value)}
    if callable(value):
        return _called(value)
    return str(value)


def _fields(kind: Any) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return str(kind)
    told: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):
        name = field.name
        if field.default is not msgspec.NODEFAULT:
            value = "a function" if inspect.isfunction(field.default) else repr(field.default)
            told[name] = f"{_named(field.type)} = {value}"
        elif field.default_factory is not msgspec.NODEFAULT:
            told[name] = f"{_named(field.type)} = made"
        else:
            told[name] = _named(field.type)
    return told


def _named(kind: Any) -> str:
    """A type without the module it is in: that may move."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return " ".join(part.rsplit(".", 1)[-1] if "[" not in part else _bare(part) for part in text.split(" "))


def _bare(text: str) -> str:
    """`collections.abc.Mapping[str, app.x.Y]` → `Mapping[str, Y]`."""
    out, word = "", ""
    for char in text:
        if char.isalnum() or char in "._":
            word += char
        else:
            out, word = out + word.rsplit(".", 1)[-1] + char, ""
    return out + word.rsplit(".", 1)[-1]


def _methods_of_struct(kind: type) -> dict[str, Any]:
    methods = {name: _called(member) for name, member in vars(kind).items() if _is_public_call(name, member)}
    return {"methods": methods} if methods else {}


def _is_public_call(name: str, member: Any) -> bool:
    return not name.startswith("_") and inspect.isfunction(member)


def _members(kind: type) -> dict[str, str]:
    """Methods with their signature, properties by name; what it inherits as well."""
    told: dict[str, str] = {}
    for name in sorted(dir(kind)):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(kind, name)
        told[name] = "property" if isinstance(member, property) else _called(member)
    return told


def _called(member: Callable[..., Any]) -> str:
    """Its parameters: names, kinds and defaults. What it returns is said by what can be done with it."""
    try:
        signature = inspect.signature(member)
    except (TypeError, ValueError):
        return "value"
    parameters = [
        str(parameter.replace(annotation=inspect.Parameter.empty))
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return f"({', '.join(parameters)})"


def lost(kept: Any, now: Any, where: str = "") -> list[str]:
    """What was promised and is not there, or is another; what came in addition is no matter."""
    if isinstance(kept, dict) and isinstance(now, dict):
        return [
            line
            for name, value in kept.items()
            for line in (
                lost(value, now[name], f"{where}/{name}") if name in now else [f"{where}/{name} is gone"]
            )
        ]
    if isinstance(kept, list) and isinstance(now, list):
        return [f"{where}: {value} is gone" for value in kept if value not in now]
    return [] if kept == now else [f"{where} was {kept} and is {now}"]
