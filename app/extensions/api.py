"""Defines `ExtensionApi`, the object through which an extension registers features and acts on the session.
The types that go with it are in `public`.

An extension is a function `extension(api)`, plain or async.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.engine.jobs.background_jobs import JobTable
from app.engine.session import Session
from app.extensions.extension_events import ExtensionBusView
from app.extensions.extension_programs import ExecResult, ProgramSandbox, run_program
from app.extensions.extension_registrations import (
    Command,
    Extension,
    ExtensionFlag,
    MarkdownTransform,
    Shortcut,
    require_session_binding,
)
from app.extensions.extension_session_binding import SessionBinding
from app.extensions.extension_tools import make_extension_tool
from app.extensions.handler_contexts import Context, ToolCallContext
from app.extensions.hooks.hook_registry import HookHandlerRegistry
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from app.extensions.loading.api_version import API_VERSION
from app.extensions.ui_protocol import DeliverAs, ProviderSpec
from app.values.content import Image
from app.values.mcp_servers import ServerView
from app.values.messages import CustomMessage
from app.values.models import Model, ThinkingLevel
from tools.file_and_process_operations import FileOperations, ProcessOperations
from tools.tool_definition import Tool, ToolContext


class ExtensionApi:
    """Everything an extension may do. Registering belongs into `extension(api)` itself; acting is for
    handlers that run later."""

    version: str = API_VERSION

    def __init__(self, hooked: HookHandlerRegistry, extension: Extension) -> None:
        self._all_hooks = hooked
        self._extension = extension
        self.context = Context(extension, hooked)
        """Reads the session as it is now."""
        self.events = ExtensionBusView(hooked.bus, extension)
        """Exchanges messages with other extensions."""

    @property
    def name(self) -> str:
        return self._extension.name

    # Registering

    def on(self, name: str, handler: Callable[..., Any] | None = None) -> Any:
        """Registers a handler for a hook or a session event. `api.on("tool_call", check)` returns a function
        that removes the handler; `@api.on("tool_call")` decorates. Handlers are called as `handler(payload,
        context)`."""
        self._extension.require_extension_open()
        if name not in HOOK_DEFINITIONS and name not in SESSION_EVENTS:
            raise ValueError(f"There is no hook {name!r}. docs/extensions.md lists all of them.")
        if handler is not None:
            return self._all_hooks.on(self._extension, name, handler, self.context)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            self._all_hooks.on(self._extension, name, function, self.context)
            return function

        return decorate

    def register_tool(self, tool: Tool) -> None:
        """Registers a tool for the model. A tool with the name of a built-in replaces it."""
        self._register("tool", self._extension.tools, tool.name, tool)
        if self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.add_tool(tool, self._extension.owner_name)

    def tool(
        self,
        name: str,
        description: str,
        *,
        arguments: type[msgspec.Struct] | None = None,
        schema: dict[str, Any] | None = None,
        **more: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates `async def run(arguments, context: ToolCallContext)`; it may return a text, a `View` or a
        `ToolResult`. `more` are fields of `Tool`: snippet, guidelines, mode, show, effects (a function to the
        `Effects` of a call: its files, by which it is judged; without it the call may do anything), kind
        (`"read"`, `"search"`, `"edit"`, `"execute"`, `"fetch"`, …: how an editor over ACP shows the call), …"""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def context_of(call: ToolContext) -> ToolCallContext:
                return ToolCallContext(self._extension, self._all_hooks, call)

            tool = make_extension_tool(
                function,
                name=name,
                description=description,
                arguments=arguments,
                schema=schema,
                context_of=context_of,
                extension=self._extension,
                limits=lambda: self._all_hooks.limits,
                **more,
            )
            self.register_tool(tool)
            return function

        return decorate

    def unregister_tool(self, name: str) -> None:
        self._extension.require_extension_open()
        if self._extension.tools.pop(name, None) is not None and self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.remove_tool(name, self._extension.owner_name)

    def command(
        self, name: str, *, description: str = "", complete: Callable[[str], Any] | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates `async def run(arguments: str, context: CommandContext)`, called as `/name arguments`."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            self.register_command(
                Command(name=name, run=function, description=description, complete=complete)
            )
            return function

        return decorate

    def register_command(self, command: Command) -> None:
        self._register("command", self._extension.commands, command.name, command)

    def shortcut(
        self, key: str, *, description: str = ""
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates `async def run(context)`."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            shortcut = Shortcut(key=key, run=function, description=description)
            self._register("shortcut", self._extension.shortcuts, key, shortcut)
            return function

        return decorate

    def register_flag(
        self,
        name: str,
        *,
        type: Literal["boolean", "string"] = "boolean",
        default: bool | str | None = None,
        description: str = "",
    ) -> None:
        """A command line flag `--name`."""
        flag = ExtensionFlag(name=name, type=type, default=default, description=description)
        self._register("flag", self._extension.flags, name, flag)

    def flag(self, name: str) -> bool | str | None:
        """Returns the value that the command line gives to a flag of this extension, or the flag's
        default."""
        flag = self._extension.flags.get(name)
        return self._all_hooks.flag_value(flag) if flag else None

    def message_renderer(self, custom_type: str, render: Callable[..., Any]) -> None:
        """Draws messages of a custom type: `render(message, expanded)` returns a `View`, blocks, a text, or a
        widget (full screen only)."""
        self._register("message renderer", self._extension.message_renderers, custom_type, render)

    def entry_renderer(self, custom_type: str, render: Callable[..., Any]) -> None:
        """Draws entries made by `append_entry`: `render(data, expanded)` returns the same kinds of value as
        in `message_renderer`."""
        self._register("entry renderer", self._extension.entry_renderers, custom_type, render)

    def tool_renderer(self, tool_name: str, render: Callable[..., Any]) -> None:
        """Draws calls of a tool: `render(arguments, result, usual)`, where `usual` is the `Card` that the
        tool itself makes."""
        self._register("tool renderer", self._extension.tool_renderers, tool_name, render)

    def markdown_transform(
        self, change: Callable[[str], str], *, kinds: Sequence[str] = ("assistant",)
    ) -> None:
        """Changes Markdown before it is drawn. Kinds: user, assistant, thinking, custom, summary."""
        self._extension.require_extension_open()
        self._extension.transforms.append(MarkdownTransform(change=change, kinds=tuple(kinds)))

    def register_provider(self, spec: ProviderSpec) -> None:
        """Registers a provider's models and, where needed, the adapter that speaks to them."""
        self._register("provider", self._extension.providers, spec.name, spec)
        if self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.add_provider(
                spec, self._extension.provider_owner_name(spec.name)
            )

    def unregister_provider(self, name: str) -> None:
        self._extension.require_extension_open()
        if self._extension.providers.pop(name, None) is not None and self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.remove_owner(self._extension.provider_owner_name(name))

    def register_mcp_server(self, name: str, config: Mapping[str, Any]) -> None:
        """Registers an MCP server, with the keys of a configuration file: `command` and `args`, or `url`. It
        precedes a server of that name in a file; the user's own settings for it (`enabled`, `exposure`,
        `tools`) still apply."""
        self._register("MCP server", self._extension.servers, name, dict(config))
        if self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.add_server(name, dict(config), self._extension.owner_name)

    def unregister_mcp_server(self, name: str) -> None:
        self._extension.require_extension_open()
        if self._extension.servers.pop(name, None) is not None and self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.remove_server(name, self._extension.owner_name)

    def mcp_servers(self) -> Sequence[ServerView]:
        """Lists all MCP servers of the session with their status and offers, without contacting any."""
        return self._session.mcp.server_views()

    def use_operations(
        self, *, files: FileOperations | None = None, processes: ProcessOperations | None = None
    ) -> None:
        """Runs file and process operations of bayou's tools and of the user's `!` commands through these
        objects, for example on another machine or in a container; None uses this machine. Lasts until the
        extension ends or calls this again."""
        self._extension.require_extension_open()
        self._extension.operations = (files, processes)
        if self._all_hooks.binding is not None:
            self._all_hooks.binding.registrations.remove_operations(self._extension.owner_name)
            self._all_hooks.binding.registrations.add_operations(files, processes, self._extension.owner_name)

    def autocomplete(self, complete: Callable[..., Any]) -> Callable[..., Any]:
        """Adds suggestions to the editor: `complete(text, cursor)` returns texts or `Completion`s, and may be
        async."""
        self._extension.require_extension_open()
        self._extension.completers.append(complete)
        return complete

    def _register(self, what: str, table: dict[str, Any], name: str, value: Any) -> None:
        """Records a registration. The later one of one extension wins; between two extensions,
        `ExtensionCatalogue` and `ExtensionRegistrationTables` decide."""
        self._extension.require_extension_open()
        if name in table:
            self._all_hooks.report_problem_once(
                self._extension.source.path,
                "register",
                f"the {what} {name} is registered twice; the second counts",
            )
        table[name] = value

    # Acting

    @property
    def _binding(self) -> SessionBinding:
        self._extension.require_extension_open()
        return require_session_binding(self._all_hooks.binding)

    @property
    def _session(self) -> Session:
        return self._binding.session

    async def send_message(
        self,
        custom_type: str,
        content: str | tuple[Any, ...],
        *,
        display: bool = True,
        details: Any = None,
        deliver_as: DeliverAs = "steer",
        trigger_turn: bool = False,
        call_id: str | None = None,
    ) -> str:
        """Sends a custom message that the model reads; returns its id, for `wait_for_delivery`.

        `steer`: before the next request. `follow_up`: when the agent would stop. `next_turn`: with the next
        prompt. `aside`: right behind the results of the present tool batch, in the same request; `call_id`
        says which call it belongs to. While no run is active, the message is added, and starts a run if
        `trigger_turn`.
        """
        session = self._session
        message = CustomMessage(custom_type=custom_type, content=content, display=display, details=details)
        return await session.send(message, deliver_as=deliver_as, trigger=trigger_turn, call_id=call_id)

    def interrupt(
        self, custom_type: str, content: str | tuple[Any, ...], *, display: bool = True, details: Any = None
    ) -> bool:
        """Stops the answer that is streaming before any of its calls runs. The answer leaves the context, and
        the same run continues behind this message, which gives the reason. False: no answer is streaming; use
        `send_message`."""
        message = CustomMessage(custom_type=custom_type, content=content, display=display, details=details)
        return self._session.interrupt_answer(message)

    async def send_user_message(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        deliver_as: Literal["steer", "follow_up"] | None = None,
        expand: bool = False,
    ) -> None:
        """Sends a prompt as if the user had typed it; `deliver_as` is required while a run is active."""
        await self._session.prompt(text, images, while_running=deliver_as, source="extension", expand=expand)

    async def wait_for_delivery(self, message_id: str, timeout: float | None = None) -> Any:
        """Waits until a request that contains the message got response headers, or the message left the
        context."""
        return await self._session.wait_for_delivery(message_id, timeout)

    async def append_entry(self, custom_type: str, data: Any = None) -> str:
        """Stores data of this extension in the session file; the model never reads it."""
        return (await self._session.notes.append_custom_entry(custom_type, data)).id

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> str:
        """Leaves an entry out of the context (None) or replaces its content; the session file keeps the
        original."""
        return (await self._session.notes.edit_context(target_id, replacement)).id

    async def set_label(self, entry_id: str, label: str | None) -> None:
        self._session.log.set_label(entry_id, label)

    async def set_session_name(self, name: str) -> None:
        await self._session.notes.rename(name)

    def session_name(self) -> str | None:
        return self._session.state.name

    def commands(self) -> tuple[Command, ...]:
        """Returns the commands of all extensions."""
        return tuple(
            command for extension in self._all_hooks.loaded for command in extension.commands.values()
        )

    def all_tools(self) -> Sequence[Tool]:
        return self._session.tools.all_tools()

    def active_tools(self) -> Sequence[str]:
        return tuple(self._session.tools.active_tools())

    def set_active_tools(self, names: Sequence[str]) -> None:
        self._session.tools.set_active_tools(names)

    async def set_model(self, model: Model) -> bool:
        """Switches the session to a model. Returns False when there are no credentials for it."""
        if not self._session.models.model_choice.is_model_available(model):
            return False
        await self._session.models.use_model(model)
        return True

    def thinking_level(self) -> ThinkingLevel:
        return self._session.state.thinking

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        await self._session.models.use_thinking_level(level)

    def settings(self) -> Mapping[str, Any]:
        return self._binding.settings()

    @property
    def jobs(self) -> JobTable:
        """Background jobs: `adopt` running work, `all`, `wait`, `kill`."""
        return self._session.jobs

    async def exec(
        self,
        command: str,
        arguments: Sequence[str] = (),
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        max_bytes: int = 1_000_000,
        sandboxed: bool = False,
    ) -> ExecResult:
        """Runs a program without a shell, in the session's folder unless `cwd` says otherwise. Variables that
        look like secrets are removed from its environment, except those named in `env` or
        `shellPassEnvironment`. `sandboxed`: it runs as confined as the model's commands, in every mode, and is
        ended with all its children; output beyond `max_bytes` ends it."""
        self._extension.require_extension_open()
        if sandboxed:
            async with self.sandbox() as sandbox:
                return await sandbox.exec(
                    command, arguments, cwd=cwd, env=env, stdin=stdin, timeout=timeout, max_bytes=max_bytes
                )
        bound = self._all_hooks.binding
        if bound is not None:
            cwd = cwd or bound.session.cwd
            env = {**bound.passed_variables(), **(env or {})}
        return await run_program(
            command, arguments, cwd=cwd, env=env, stdin=stdin, timeout=timeout, max_bytes=max_bytes
        )

    def sandbox(self) -> ProgramSandbox:
        """`async with api.sandbox() as sandbox:` runs several programs with `await sandbox.exec(…)`, each as
        `exec(sandboxed=True)` does. Files that they made and that run later are looked for once, after the last."""
        self._extension.require_extension_open()
        return ProgramSandbox(self._session)
