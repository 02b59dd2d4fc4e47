"""All settings as one value, and each setting as a key with its name, type and description.

The groups are defined in `settings_agent` and the modules beside it. `settings_reader` reads a file,
`effective_settings` decides which value applies, `settings_file` changes a file, `settings_docs` generates the
documentation.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

import msgspec

from app.resources.settings import settings_agent as agent
from app.resources.settings import settings_display as look
from app.resources.settings import settings_tools as single
from app.resources.settings import settings_trust as trust
from app.values.user_errors import UserError


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All settings of bayou, grouped by feature."""

    model: agent.ModelSettings = agent.ModelSettings()
    interaction: agent.InteractionSettings = agent.InteractionSettings()
    tools: agent.ToolSettings = agent.ToolSettings()
    edit: agent.EditSettings = agent.EditSettings()
    bash: single.BashSettings = single.BashSettings()
    eval: single.EvalSettings = single.EvalSettings()
    diagnostics: single.DiagnosticSettings = single.DiagnosticSettings()
    mcp: single.McpSettings = single.McpSettings()
    acp: single.AcpSettings = single.AcpSettings()
    render_mermaid: single.MermaidSettings = single.MermaidSettings()
    web: single.WebSettings = single.WebSettings()
    background: agent.BackgroundSettings = agent.BackgroundSettings()
    file_maps: agent.FileMapSettings = agent.FileMapSettings()
    repository_maps: agent.RepositoryMapSettings = agent.RepositoryMapSettings()
    sessions: agent.SessionSettings = agent.SessionSettings()
    todo: agent.TodoSettings = agent.TodoSettings()
    goal: single.GoalSettings = single.GoalSettings()
    task: single.HelperAgentSettings = single.HelperAgentSettings()
    undo: agent.UndoSettings = agent.UndoSettings()
    compaction: agent.CompactionSettings = agent.CompactionSettings()
    branch_summary: agent.BranchSummarySettings = agent.BranchSummarySettings()
    network: agent.NetworkSettings = agent.NetworkSettings()
    retry: agent.RetrySettings = agent.RetrySettings()
    shell: single.ShellSettings = single.ShellSettings()
    resources: agent.ResourceSettings = agent.ResourceSettings()
    rules: agent.AgentRuleSettings = agent.AgentRuleSettings()
    permissions: trust.PermissionSettings = trust.PermissionSettings()
    sandbox: trust.SandboxSettings = trust.SandboxSettings()
    secrets: trust.SecretSettings = trust.SecretSettings()
    extension_limits: agent.ExtensionSettings = agent.ExtensionSettings()
    display: look.DisplaySettings = look.DisplaySettings()
    markdown: look.MarkdownSettings = look.MarkdownSettings()
    images: look.ImageSettings = look.ImageSettings()
    editor: look.EditorSettings = look.EditorSettings()
    footer: look.FooterSettings = look.FooterSettings()
    terminal: look.TerminalSettings = look.TerminalSettings()
    notifications: look.NotificationSettings = look.NotificationSettings()


FLAT_SETTINGS_GROUPS = frozenset(
    ("model", "interaction", "tools", "sessions", "network", "shell", "resources", "display", "editor")
)
"""Groups of settings whose keys are at the top level of the file: `defaultModel`, not `model.defaultModel`."""


SETTINGS_GROUP_TITLES: Mapping[str, str] = {
    "model": "Model",
    "interaction": "Messages and keys",
    "tools": "Tools",
    "edit": "Edits",
    "bash": "Commands",
    "eval": "Python",
    "diagnostics": "Linters",
    "mcp": "MCP servers",
    "acp": "Editors (ACP)",
    "web": "Web pages",
    "render_mermaid": "Mermaid tool",
    "background": "Background jobs",
    "file_maps": "File outlines",
    "repository_maps": "Repository map",
    "sessions": "Sessions",
    "todo": "Todo list",
    "goal": "Goals",
    "task": "Helper agents",
    "undo": "Undo",
    "compaction": "Compaction",
    "branch_summary": "Branch summaries",
    "network": "Network",
    "retry": "Retries",
    "shell": "Shell",
    "resources": "Extensions, skills, prompts and themes",
    "rules": "Rules",
    "permissions": "Permissions",
    "sandbox": "Sandbox",
    "secrets": "Secrets",
    "extension_limits": "Extension limits",
    "display": "Display",
    "markdown": "Markdown",
    "images": "Images",
    "editor": "Editor",
    "footer": "Header and footer",
    "terminal": "Terminal",
    "notifications": "Notifications",
}
"""The headings of the groups, in /settings and in docs/settings.md."""


SettingUnit = Literal["", "ms", "s", "min", "days", "B", "MB", "tokens", "$"]
"""The unit in which a setting's number is written in the file."""
_UNIT_BY_SETTING_NAME_SUFFIX: Mapping[str, SettingUnit] = {
    "ms": "ms",
    "seconds": "s",
    "minutes": "min",
    "days": "days",
    "bytes": "B",
    "mb": "MB",
    "tokens": "tokens",
    "budgets": "tokens",
    "cost": "$",
}
"""The units of settings, by the last word of a setting's name or of its group's."""


class SettingRefused(UserError):
    """Raised if a change of a setting is rejected. The message gives the reason and the next step."""


class SettingKey(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its path in the file and in `Settings`, its type and its description."""

    path: tuple[str, ...]
    attributes: tuple[str, ...]
    type: Any
    default: Any
    label: str
    """The setting's name in /settings."""
    description: str
    unit: SettingUnit = ""
    is_global_only: bool = False
    is_merged_list: bool = False
    runs: bool = False
    """Whether a project's value can run a program or redirect writes, so that the trust question lists it first."""

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def group(self) -> str:
        """The heading of the setting's group."""
        return SETTINGS_GROUP_TITLES[self.attributes[0]]


@cache
def all_setting_keys() -> tuple[SettingKey, ...]:
    """Returns all settings in the order of their groups."""
    found: list[SettingKey] = []
    for field in msgspec.structs.fields(Settings):
        path = () if field.name in FLAT_SETTINGS_GROUPS else (field.encode_name,)
        found += _group_keys(field.type, field.default, path, (field.name,))
    return tuple(found)


def find_setting_key(name: str) -> SettingKey:
    """Returns the key named `name` (`bash.autoBackground.thresholdMs`). Raises `SettingRefused`."""
    key = _keys_by_name().get(name)
    if key is None:
        raise SettingRefused(f"There is no setting {name}. docs/settings.md lists all of them.")
    return key


@cache
def _keys_by_name() -> Mapping[str, SettingKey]:
    return {key.name: key for key in all_setting_keys()}


def convert_setting_value(key: SettingKey, value: Any) -> Any:
    """Converts `value` to the type of the setting. Raises `SettingRefused` if that fails."""
    try:
        return msgspec.convert(value, key.type)
    except msgspec.ValidationError as problem:
        raise SettingRefused(f"{key.name}: {_explain_problem(problem, key)}") from None


def setting_value_at(settings: Settings, key: SettingKey) -> Any:
    """Returns a setting's value in the form of the file."""
    value: Any = settings
    for attribute in key.attributes:
        value = getattr(value, attribute)
    return msgspec.to_builtins(value)


def with_setting_value(settings: Settings, key: SettingKey, value: Any) -> Settings:
    """Returns `settings` with one value replaced; `value` must be converted already."""
    return _replace_nested(settings, key.attributes, value)


def settings_as_in_file(settings: Settings) -> dict[str, Any]:
    """Returns all settings as plain data with their names in the file."""
    document: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        group = msgspec.to_builtins(getattr(settings, field.name))
        document.update(group if field.name in FLAT_SETTINGS_GROUPS else {field.encode_name: group})
    return document


def setting_choices(key: SettingKey) -> tuple[Any, ...]:
    """Returns the possible values of a setting with a fixed choice; empty for other settings."""
    plain = get_args(key.type)[0]
    if plain is bool:
        return (True, False)
    options = [plain] if get_origin(plain) is Literal else list(get_args(plain))
    found: list[Any] = []
    for option in options:
        if option is bool:
            found += [True, False]
        elif get_origin(option) is Literal:
            found += get_args(option)
        else:
            return ()
    return tuple(found)


def _group_keys(
    group: Any, default: Any, path: tuple[str, ...], attributes: tuple[str, ...]
) -> list[SettingKey]:
    found: list[SettingKey] = []
    for field in msgspec.structs.fields(group):
        here = getattr(default, field.name)
        where, through = (*path, field.encode_name), (*attributes, field.name)
        if isinstance(field.type, type) and issubclass(field.type, agent.SettingsGroup):
            found += _group_keys(field.type, here, where, through)
            continue
        meta = field.type.__metadata__[0]
        marks = meta.extra or {}
        found.append(
            SettingKey(
                path=where,
                attributes=through,
                type=field.type,
                default=msgspec.to_builtins(here),
                label=meta.title,
                description=meta.description,
                unit=_unit_of(through) if isinstance(here, int | float) else "",
                is_global_only=bool(marks.get("global_only")),
                is_merged_list=bool(marks.get("is_merged_list")),
                runs=bool(marks.get("runs")),
            )
        )
    return found


def _unit_of(attributes: tuple[str, ...]) -> SettingUnit:
    for attribute in reversed(attributes):
        unit = _UNIT_BY_SETTING_NAME_SUFFIX.get(attribute.rpartition("_")[2])
        if unit is not None:
            return unit
    return ""


def _replace_nested(value: Any, attributes: tuple[str, ...], new: Any) -> Any:
    first, *rest = attributes
    if rest:
        new = _replace_nested(getattr(value, first), tuple(rest), new)
    return msgspec.structs.replace(value, **{first: new})


def _explain_problem(problem: msgspec.ValidationError, key: SettingKey) -> str:
    """Returns msgspec's message without the path, which is the key itself, and with the possible values."""
    text, _, where = str(problem).partition(" - at `")
    inside = where.rstrip("`").removeprefix("$")
    allowed = ", ".join(f"`{option}`" for option in setting_choices(key) if isinstance(option, str))
    hint = f". Expected one of: {allowed}" if allowed and not inside else ""
    return f"{text[:1].lower()}{text[1:]}" + (f" (at {inside})" if inside else "") + hint
