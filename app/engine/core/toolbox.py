"""The tools of a session: which exist, which are active, and how their calls are shown."""

import fnmatch
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.messages import ToolDeclaration
from tools.call_effects import NO_CALL_EFFECTS, Effects, FilesOfRecordedCall
from tools.edits.files_named_by_edits import EDITING_TOOL_NAMES
from tools.files.paths import display_path
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolContext, make_generic_tool_card
from tools.tool_result_values import Card, ToolKind, ToolResult


class EnabledToolPatterns(msgspec.Struct, frozen=True, kw_only=True):
    """The tools chosen by the command line and the settings. Patterns may contain `*`."""

    allowed_patterns: tuple[str, ...] | None = None
    """The patterns of the only tools that are chosen; None: the default tools."""
    added_patterns: tuple[str, ...] = ()
    removed_patterns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, names: Iterable[str]) -> "EnabledToolPatterns":
        """Parses a list of tool names, or of `+name` and `-name` changes to the defaults; mixing both is an error."""
        plain = tuple(name for name in names if name[:1] not in "+-")
        add = tuple(name[1:] for name in names if name.startswith("+"))
        remove = tuple(name[1:] for name in names if name.startswith("-"))
        if plain and (add or remove):
            raise ValueError(
                "Give either the names of the tools, or +name and -name to change the defaults, not both."
            )
        return cls(allowed_patterns=plain or None, added_patterns=add, removed_patterns=remove)


FindWithheldTools = Callable[[Mapping[str, Tool]], Collection[str]]
"""A function that returns the names of the tools that the model does not get now."""


class CallableTools(Mapping[str, Tool]):
    """A mapping of callable tools that finds more than it lists: errors about unknown names name only the listed
    ones."""

    def __init__(self, told: Mapping[str, Tool], reached: Mapping[str, Tool]) -> None:
        self._snapshot = told
        self._unlisted_sources = reached

    def __getitem__(self, name: str) -> Tool:
        return self._snapshot[name] if name in self._snapshot else self._unlisted_sources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot)

    def __len__(self) -> int:
        return len(self._snapshot)


class Toolbox:
    """All tools by name, the later registration winning, and the active ones."""

    def __init__(
        self,
        tools: Callable[["Toolbox"], Iterable[Tool]],
        workspace: SessionWorkspace,
    ) -> None:
        """Creates an empty toolbox. `tools` makes the built-in tools when they are first needed, after the first
        paint. The tool `edit` among them is declared in the model's edit mode."""
        self.workspace = workspace
        self._initial_tools = tools
        self._fill_lock = threading.RLock()
        self._is_filled = self._is_being_filled = False
        self._tool_choices: list[EnabledToolPatterns] = []
        """The tool choices of command line and settings so far, the latest last."""
        self._tools: dict[str, Tool] = {}
        self._owners: dict[str, list[tuple[str, Tool]]] = {}
        self._builtin_edit_tool: Tool | None = None
        """The built-in edit tool, which an edit tool of an extension may replace."""
        self._commands: Tool | None = None
        self._active: list[str] = []
        self._withheld: list[FindWithheldTools] = []
        self._callable_rules: list[FindWithheldTools] = []
        self._withhold_rules: list[tuple[FindWithheldTools, Callable[[], str]]] = []
        self._snapshot: _ToolSnapshot | None = None
        """The state of the tools as last computed; None if something has changed since."""
        self._change_count = 0
        self._unlisted_sources: Callable[[], Mapping[str, Tool]] = dict
        workspace.on_operations_switched = self.recompute_active_tools

    @property
    def _registered_tools(self) -> dict[str, Tool]:
        if not self._is_filled:
            with self._fill_lock:
                self._create_builtin_tools()
        return self._tools

    def _create_builtin_tools(self) -> None:
        if self._is_filled or self._is_being_filled:
            return
        self._is_being_filled = True
        try:
            self._tools = {tool.name: tool for tool in self._initial_tools(self)}
        finally:
            self._is_being_filled = False
        self._builtin_edit_tool = self._tools.get("edit")
        self._commands = self._tools.get("bash")
        self._active = [name for name, tool in self._tools.items() if tool.is_active]
        for choice in self._tool_choices:
            self._apply_tool_choice(choice)
        self._is_filled = True
        self.recompute_active_tools()

    def recompute_active_tools(self) -> None:
        """Recomputes the active tools; called when a withhold rule or a tool's form changes."""
        self._change_count += 1
        self._snapshot = None

    def choose_tools(self, choice: EnabledToolPatterns) -> None:
        with self._fill_lock:
            if self._is_filled:
                self._apply_tool_choice(choice)
            else:
                self._tool_choices.append(choice)

    def _apply_tool_choice(self, choice: EnabledToolPatterns) -> None:
        if choice.allowed_patterns is not None:
            self._active = [
                name for name in self._tools if _matches_any_pattern(name, choice.allowed_patterns)
            ]
        self._active += [
            name
            for name in self._tools
            if name not in self._active and _matches_any_pattern(name, choice.added_patterns)
        ]
        self._active = [
            name for name in self._active if not _matches_any_pattern(name, choice.removed_patterns)
        ]
        self.recompute_active_tools()

    def register_tool(self, tool: Tool, *, owner: str) -> None:
        """Adds a tool. The tool hides another one of the same name until its owner is removed."""
        covered = self._registered_tools.get(tool.name)
        if covered is not None:
            self._owners.setdefault(tool.name, []).append((owner, covered))
        else:
            self._owners.setdefault(tool.name, [])
        self._tools[tool.name] = tool
        if tool.is_active and tool.name not in self._active:
            self._active.append(tool.name)
        self.recompute_active_tools()

    def add_withhold_rule(
        self, rule: FindWithheldTools, *, still_answers: bool = False, why: Callable[[], str] = str
    ) -> None:
        """Adds a rule that withholds tools from the model. The rule's owner calls `recompute_active_tools` when its
        result changes. `still_answers`: the tool can be called all the same, and says why it has nothing to
        do. `why`: returns the reason that a call of such a tool gets."""
        self._withheld.append(rule)
        self._withhold_rules.append((rule, why))
        if still_answers:
            self._callable_rules.append(rule)
        self.recompute_active_tools()

    def unregister_tool(self, name: str) -> None:
        tools, covered = self._registered_tools, self._owners.pop(name, [])
        if covered:
            tools[name] = covered[-1][1]
        else:
            tools.pop(name, None)
            self._active = [active for active in self._active if active != name]
        self.recompute_active_tools()

    def all_tools(self) -> tuple[Tool, ...]:
        return tuple(self._registered_tools.values())

    def active_tools(self) -> Mapping[str, Tool]:
        """Returns the tools that are declared to the model."""
        return self._current_tools().active

    def active_declarations(self) -> tuple[ToolDeclaration, ...]:
        """Returns the declarations of the active tools."""
        return self._current_tools().declared

    def _current_tools(self) -> "_ToolSnapshot":
        """Returns the snapshot of the current tools, recomputed only after a change."""
        told = self._snapshot
        # Another thread may have computed it before the change.
        if told is None or told.change_count != self._change_count:
            all_, changes = self._registered_tools, self._change_count
            active = self._allowed_tools(all_)
            self._snapshot = told = _ToolSnapshot(
                change_count=changes,
                active=active,
                callable=_add_alias_names({**self._callable_tools(all_), **active}),
                declared=sorted_tool_declarations(active),
            )
        return told

    def _allowed_tools(self, all_: Mapping[str, Tool]) -> dict[str, Tool]:
        there = {name: all_[name] for name in self._active if name in all_}
        for rule in self._withheld:
            for name in rule(there):
                there.pop(name, None)
        for tool in (self._builtin_edit_tool, self._commands):
            if tool is not None and there.get(tool.name) is tool:
                there[tool.name] = self._tool_variant_for_settings(tool)
        return {tool.name: tool for tool in there.values()}

    def _callable_tools(self, all_: Mapping[str, Tool]) -> dict[str, Tool]:
        there = {name: all_[name] for name in self._active if name in all_}
        return {name: all_[name] for rule in self._callable_rules for name in rule(there)}

    def withheld_reason(self, name: str) -> str:
        """Returns why a tool cannot be called now; empty if no rule that tells its reason withholds it."""
        tool = self._registered_tools.get(name)
        if tool is None:
            return ""
        return next(
            (
                why
                for rule, reason in self._withhold_rules
                if name in rule({name: tool}) and (why := reason())
            ),
            "",
        )

    def add_unlisted_source(self, source: Callable[[], Mapping[str, Tool]]) -> None:
        """Adds a source of tools that can be called by name and are not listed; it is asked each time."""
        self._unlisted_sources = source

    def callable_tools(self) -> Mapping[str, Tool]:
        """Returns all tools that can be called, by name: the active ones, also under aliases that models use by habit,
        and the unlisted ones."""
        told, reached = self._current_tools().callable, self._unlisted_sources()
        return CallableTools(told, reached) if reached else told

    def kind_of_tool(self, name: str) -> ToolKind:
        """Returns the kind that an editor shows for calls of this tool; `other` for an unknown tool."""
        tool = self._registered_tools.get(name) or self.callable_tools().get(name)
        return tool.kind if tool is not None else "other"

    def effects_of_call(self, name: str, arguments: Mapping[str, Any]) -> Effects | None:
        """Returns what a tool call would touch; None: there is no such tool, or the arguments do not fit. Reads
        files."""
        tool = self.callable_tools().get(name) or self._registered_tools.get(name)
        if tool is None:
            return None
        from tools.argument_schema import convert_to_arguments_struct, normalise_tool_arguments  # noqa: PLC0415  (with the first tools)

        context = ToolContext(call_id="", cwd=self.workspace.cwd, workspace=self.workspace)
        try:
            return tool.effects_of(
                convert_to_arguments_struct(tool, normalise_tool_arguments(tool, dict(arguments))), context
            )
        except Exception:  # noqa: BLE001  (a tool's own functions; its call is answered with what is wrong)
            return None

    def files_of_call(self, call: ToolCall) -> FilesOfRecordedCall:
        """Returns the files of a stored tool call, as the tool with its name reports them now; empty without
        such a tool. Reads the file system."""
        effects = self.effects_of_call(call.name, call.arguments) or NO_CALL_EFFECTS
        kinds = {path: self._file_kind(path) for path in effects.reads}
        files = [path for path in effects.reads if kinds[path] != "directory"]
        there = [path for path in files if kinds[path]]
        return FilesOfRecordedCall(
            reads=tuple(display_path(path, self.workspace.cwd) for path in there or files),
            writes=tuple(display_path(path, self.workspace.cwd) for path in effects.writes),
        )

    def _file_kind(self, path: str) -> str:
        """Returns the kind of a file; empty when the file does not exist."""
        try:
            return self.workspace.files.stat(path).kind
        except (OSError, ValueError):
            return ""

    def _tool_variant_for_settings(self, tool: Tool) -> Tool:
        if tool is self._builtin_edit_tool and (mode := self.workspace.edit_mode()) != "replace":
            from tools.builtin.edit import make_edit_tool_for_mode  # noqa: PLC0415  (with the first tools)

            return make_edit_tool_for_mode(mode)
        if tool is self._commands and not self.workspace.shell_settings().has_terminals:
            from tools.builtin.bash import make_bash_tool  # noqa: PLC0415  (as above)

            return make_bash_tool(has_terminals=False) if tool is make_bash_tool() else tool
        return tool

    def set_active_tools(self, names: Iterable[str]) -> None:
        all_ = self._registered_tools
        self._active = [name for name in dict.fromkeys(names) if name in all_]
        self.recompute_active_tools()

    def draw_call_card(self, call: ToolCall, result: ToolResult | None = None) -> Card:
        """Returns the card that shows a tool call to the user. A tool that cannot draw its arguments gets a
        plain card."""
        tool = self._registered_tools.get(call.name) or self._unlisted_sources().get(call.name)
        if tool is None:
            return make_generic_tool_card(call.name, call.arguments, result)
        try:
            return tool.card(call.arguments, result)
        except Exception:  # noqa: BLE001  (arguments may be partial or a model's nonsense)
            return make_generic_tool_card(call.name, call.arguments, result)


class _ToolSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a session at one moment: active, callable and declared."""

    change_count: int
    """The number of changes of the toolbox when this state was computed."""
    active: Mapping[str, Tool]
    callable: Mapping[str, Tool]
    """The tools that can be called by name: the active ones, and aliases such as the other name of the edit tool."""
    declared: tuple[ToolDeclaration, ...]


def _add_alias_names(active: Mapping[str, Tool]) -> Mapping[str, Tool]:
    names = [name for name in EDITING_TOOL_NAMES if name in active]
    if len(names) != 1:
        return active
    from tools.edits.edit_arguments import run_edit  # noqa: PLC0415  (with the first tools)

    tool = active[names[0]]
    return {**dict.fromkeys(EDITING_TOOL_NAMES, tool), **active} if tool.run is run_edit else active


def sorted_tool_declarations(tools: Mapping[str, Tool]) -> tuple[ToolDeclaration, ...]:
    """Returns the declarations of tools, sorted, so that the order of registration does not change the prompt."""
    return tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.schema)
        for tool in sorted(tools.values(), key=lambda tool: tool.name)
    )


def _matches_any_pattern(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
