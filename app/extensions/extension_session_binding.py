"""Connects extensions to a session, to the user interface that shows it, and to the tables that take their
tools, providers and servers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.extensions.ui_protocol import Mode, ProviderSpec, Ui
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.sessions.session_log import SessionLog
from app.values.entries import Entry
from app.values.messages import Message
from app.values.usage import Usage
from app.values.wire import to_wire
from tools.call_effects import Effects
from tools.file_and_process_operations import FileOperations, ProcessOperations
from tools.tool_definition import Tool

if TYPE_CHECKING:
    from app.engine.commands.response_data import CommandInfo


class SessionBinding(msgspec.Struct, kw_only=True):
    """One session and the user interface that shows it."""

    session: Session
    mode: Mode
    ui: Ui
    session_paths: SessionPaths
    registrations: "ExtensionRegistrationTables"
    settings: Callable[[], Mapping[str, Any]] = dict
    """All settings, spelled as in the file, including keys that bayou does not know."""
    prompt_sections: dict[str, str] = {}
    """Sections of the system prompt that extensions own; changed in place."""
    passed_variables: Callable[[], Mapping[str, str]] = dict
    """Variables with secrets that the user passes on to programs started by extensions."""
    cache_dir: Path | None = None
    is_trusted: bool = False
    uses_context_files: bool = True
    """False: `--no-context-files`."""
    shutdown: Callable[[], None] = lambda: None
    reload: Callable[[], Any] = lambda: None
    expand_prompt: Callable[[str], Awaitable[str]] | None = None
    """Expands `/skill:name` or `/template` to its text."""
    tool_refusal: Callable[[str, Mapping[str, Any]], str] = lambda name, arguments: ""
    """Says why the command that began the run does not let a call run; empty if it does."""
    file_commands: Callable[[], "Sequence[CommandInfo]"] = lambda: ()
    """Lists the templates and skills that `/name` can stand for in a prompt."""


class SessionRecord:
    """Gives extensions read access to the conversation's log."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def _log(self) -> SessionLog:
        return self._session.log

    @property
    def id(self) -> str:
        return self._log.session_id

    @property
    def file(self) -> Path | None:
        return self._log.path

    @property
    def name(self) -> str | None:
        return self._log.name

    @property
    def leaf_id(self) -> str | None:
        return self._log.leaf_id

    @property
    def usage(self) -> Usage:
        """Tokens and cost of the whole session."""
        return self._session.stats.usage

    @property
    def last_usage(self) -> Usage | None:
        """Tokens of the last answer."""
        return self._session.stats.last_usage

    def entries(self) -> Sequence[Entry]:
        return tuple(self._log.entries)

    def entry(self, entry_id: str) -> Entry | None:
        return self._log.entry(entry_id) if entry_id in self._log else None

    def branch(self, from_id: str | None = None) -> Sequence[Entry]:
        """Returns the entries from the root to an entry, or to the present leaf when None."""
        return list(self._log.path_to(from_id))

    def label(self, entry_id: str) -> str | None:
        return self._log.label(entry_id)

    def messages(self) -> Sequence[Message]:
        """Returns the context: the messages that the next request sends."""
        return self._session.messages

    def effects_of(self, name: str, arguments: Mapping[str, Any]) -> Effects | None:
        """Returns the effects of calling this tool with these arguments, for a new or an earlier call; None
        when the tool does not exist or the arguments are invalid. Looks at files."""
        return self._session.tools.effects_of_call(name, arguments)

    def read_restriction(self, path: Path) -> str:
        """Explains why a `read` of this file would need approval (a rule hides it, or it may hold secrets),
        so that none of its content should reach the model. Usually empty."""
        return self._session.permissions.hidden_file_reason(path)

    def masked(self, text: str) -> str:
        """Returns a text with its secrets masked, as the model reads it."""
        return self._session.secrets.masked_text(text, "an extension")


class ExtensionRegistrationTables(msgspec.Struct, eq=False):
    """Holds what extensions registered, each item under its owner's name, and removes it with the owner."""

    session: Session
    model_choice: ModelChoice
    registry: AdapterRegistry
    switch_file_and_process_operations: Callable[
        [FileOperations | None, ProcessOperations | None], object
    ] = lambda *operations: None
    """Switches the tools to these operations, or back to bayou's own."""
    _tools_by_owner: dict[str, list[str]] = msgspec.field(default_factory=dict)
    _servers_by_owner: dict[str, list[str]] = msgspec.field(default_factory=dict)
    _operations: list[tuple[str, FileOperations | None, ProcessOperations | None]] = msgspec.field(
        default_factory=list
    )

    def add_tool(self, tool: Tool, owner: str) -> None:
        self.session.tools.register_tool(tool, owner=owner)
        self._tools_by_owner.setdefault(owner, []).append(tool.name)

    def remove_tool(self, name: str, owner: str) -> None:
        if name in self._tools_by_owner.get(owner, []):
            self._tools_by_owner[owner].remove(name)
            self.session.tools.unregister_tool(name)

    def add_server(self, name: str, entry: Mapping[str, Any], owner: str) -> None:
        self.session.mcp.set_added_server(name, entry)
        self._servers_by_owner.setdefault(owner, []).append(name)

    def remove_server(self, name: str, owner: str) -> None:
        if name in self._servers_by_owner.get(owner, []):
            self._servers_by_owner[owner].remove(name)
            self.session.mcp.set_added_server(name, None)

    def add_provider(self, spec: ProviderSpec, owner: str) -> None:
        register_provider_models(
            spec, self.model_choice.catalogue, self.model_choice.credentials, owner=owner
        )
        if spec.adapter is not None:
            for api in {model.api for model in spec.models}:
                self.registry.register_adapter(api, spec.adapter, owner=owner)

    def add_operations(
        self, files: FileOperations | None, processes: ProcessOperations | None, owner: str
    ) -> None:
        """Adds an owner's operations. The latest of several owners is used; an owner that passes None keeps
        its place."""
        self._operations.append((owner, files, processes))
        self._switch_to_last_operations()

    def remove_operations(self, owner: str) -> None:
        if any(whose == owner for whose, _, _ in self._operations):
            self._operations = [entry for entry in self._operations if entry[0] != owner]
            self._switch_to_last_operations()

    def _switch_to_last_operations(self) -> None:
        files = [files for _, files, _ in self._operations if files is not None]
        processes = [processes for _, _, processes in self._operations if processes is not None]
        self.switch_file_and_process_operations(
            files[-1] if files else None, processes[-1] if processes else None
        )

    def remove_owner(self, owner: str) -> None:
        self.remove_operations(owner)
        for name in self._tools_by_owner.pop(owner, []):
            self.session.tools.unregister_tool(name)
        for name in self._servers_by_owner.pop(owner, []):
            self.session.mcp.set_added_server(name, None)
        self.registry.remove_adapters_of(owner)
        self.model_choice.catalogue.remove_extension_entries(owner)
        self.model_choice.credentials.remove_extension_keys(owner)


def register_provider_models(
    spec: ProviderSpec, catalogue: ModelCatalogue, credentials: Credentials, *, owner: str
) -> None:
    """Registers the provider's models, and the credentials, headers and adapter needed to call them."""
    entry: dict[str, Any] = {"models": [to_wire(model) for model in spec.models]}
    if spec.base_url:
        entry["baseUrl"] = spec.base_url
    catalogue.add_provider(spec.name, entry, owner=owner)
    if spec.sign_in is not None:
        credentials.add_sign_in(spec.name, spec.sign_in, owner=owner)
    if spec.api_key is not None or spec.headers:
        credentials.set_extension_key(
            spec.name,
            spec.api_key,
            headers=spec.headers,
            owner=owner,
            is_for_address=bool(spec.base_url),
        )
