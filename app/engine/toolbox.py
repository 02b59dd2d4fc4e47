"""The tools of a session: which exist, which are active, and what a call of one is given."""

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from app.values.content import ToolCall
from app.values.messages import ToolDeclaration
from app.values.models import Model
from tools.base import JobHost, Tool, ToolCaller, ToolContext, plain_card
from tools.builtin.edit import edit_tool_for
from tools.edits.call import run_edit
from tools.edits.named import EDITING
from tools.results import Card, ToolResult
from tools.workspace import Workspace


class ToolChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line and the settings say of tools. Patterns may hold `*`."""

    only: tuple[str, ...] | None = None
    """An allow list; None: the defaults."""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @classmethod
    def parse(cls, names: Iterable[str]) -> "ToolChoice":
        """A list of names, or one of `+name` and `-name` changes; not both."""
        plain = tuple(name for name in names if name[:1] not in "+-")
        add = tuple(name[1:] for name in names if name.startswith("+"))
        remove = tuple(name[1:] for name in names if name.startswith("-"))
        if plain and (add or remove):
            raise ValueError("Name the tools, or change the defaults with +name and -name, but not both.")
        return cls(only=plain or None, add=add, remove=remove)


class ToldTools(Mapping[str, Tool]):
    """Finds more than it lists: whoever asks for a name that is not there is told of the listed ones."""

    def __init__(self, told: Mapping[str, Tool], reached: Mapping[str, Tool]) -> None:
        self._told = told
        self._reached = reached

    def __getitem__(self, name: str) -> Tool:
        return self._told[name] if name in self._told else self._reached[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)


class Toolbox:
    """All tools by name, the later registration winning, and the active ones."""

    def __init__(
        self,
        tools: Iterable[Tool],
        workspace: Workspace,
        *,
        model: Callable[[], Model | None] = lambda: None,
    ) -> None:
        """`model`: the one that reads what the tools bring. Of the tool `edit` among `tools` it is told in its mode."""
        self.workspace = workspace
        self._model = model
        self._all: dict[str, Tool] = {tool.name: tool for tool in tools}
        self._owners: dict[str, list[tuple[str, Tool]]] = {}
        self._editing = self._all.get("edit")
        """The own one, in whose place another of its kind may stand."""
        self._active: list[str] = [name for name, tool in self._all.items() if tool.is_active]
        self._withheld: list[Callable[[Tool], bool]] = []
        self._to_background: set[str] = set()
        self._reached: Callable[[], Mapping[str, Tool]] = dict

    @property
    def cwd(self) -> Path:
        """The folder that calls work in."""
        return self.workspace.cwd

    def choose(self, choice: ToolChoice) -> None:
        if choice.only is not None:
            self._active = [name for name in self._all if _matches(name, choice.only)]
        self._active += [
            name for name in self._all if name not in self._active and _matches(name, choice.add)
        ]
        self._active = [name for name in self._active if not _matches(name, choice.remove)]

    def register(self, tool: Tool, *, owner: str) -> None:
        """Adds a tool, or covers one of the same name until its owner is removed."""
        covered = self._all.get(tool.name)
        if covered is not None:
            self._owners.setdefault(tool.name, []).append((owner, covered))
        else:
            self._owners.setdefault(tool.name, [])
        self._all[tool.name] = tool
        if tool.is_active and tool.name not in self._active:
            self._active.append(tool.name)

    def withhold(self, rule: Callable[[Tool], bool]) -> None:
        """The model does not have what a rule withholds, as long as it does; it is asked each time."""
        self._withheld.append(rule)

    def unregister(self, name: str) -> None:
        covered = self._owners.pop(name, [])
        if covered:
            self._all[name] = covered[-1][1]
        else:
            self._all.pop(name, None)
            self._active = [active for active in self._active if active != name]

    def all(self) -> tuple[Tool, ...]:
        return tuple(self._all.values())

    def active(self) -> dict[str, Tool]:
        """Those that the model is told of."""
        there = (self._all[name] for name in self._active if name in self._all)
        told = (self._in_its_mode(tool) for tool in there if not any(rule(tool) for rule in self._withheld))
        return {tool.name: tool for tool in told}

    def reach(self, source: Callable[[], Mapping[str, Tool]]) -> None:
        """Tools that can be called by who knows their names, and that nobody is told of; asked for each time."""
        self._reached = source

    def callable(self) -> Mapping[str, Tool]:
        """Those that are told of, what models call by habit (the other name of the tool that edits), and what can be
        reached besides."""
        active = self.active()
        names = [name for name in EDITING if name in active]
        if len(names) == 1 and active[names[0]].run is run_edit:
            active = dict.fromkeys(EDITING, active[names[0]]) | active
        reached = self._reached()
        return ToldTools(active, reached) if reached else active

    def _in_its_mode(self, tool: Tool) -> Tool:
        mode = self.workspace.edit_mode()
        return tool if tool is not self._editing or mode == "replace" else edit_tool_for(mode)

    def set_active(self, names: Iterable[str]) -> None:
        self._active = [name for name in dict.fromkeys(names) if name in self._all]

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """The active ones, as the model is told of them."""
        return declared(self.active())

    def context(
        self,
        call: ToolCall,
        progress: Callable[[ToolResult], None],
        *,
        jobs: JobHost | None = None,
        caller: ToolCaller | None = None,
    ) -> ToolContext:
        model = self._model()
        return ToolContext(
            call_id=call.id,
            cwd=self.cwd,
            progress=progress,
            workspace=self.workspace,
            jobs=jobs,
            caller=caller,
            background_requested=lambda: call.id in self._to_background,
            model_reads_images=model is None or model.reads_images,
            model_window=model.context_window if model is not None else None,
        )

    def send_to_background(self, call_id: str) -> None:
        """The person asked that this running call be waited for no longer."""
        self._to_background.add(call_id)

    def card(self, call: ToolCall, result: ToolResult | None = None) -> Card:
        """How people see a call. A tool that cannot draw these arguments is drawn plainly."""
        tool = self._all.get(call.name) or self._reached().get(call.name)
        if tool is None:
            return plain_card(call.name, call.arguments, result)
        try:
            return tool.card(call.arguments, result)
        except Exception:  # noqa: BLE001  (arguments may be partial or a model's nonsense)
            return plain_card(call.name, call.arguments, result)


def declared(tools: Mapping[str, Tool]) -> tuple[ToolDeclaration, ...]:
    """Sorted, so that the prompt's bytes do not depend on who came first."""
    return tuple(
        ToolDeclaration(name=tool.name, description=tool.description, parameters=tool.schema)
        for tool in sorted(tools.values(), key=lambda tool: tool.name)
    )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
