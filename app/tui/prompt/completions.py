"""The editor's completion sources: commands and arguments, files, symbols, Python names, suggestions of
extensions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.engine.core.model_choice import ModelChoice
from app.engine.mcp.session_servers import McpServers
from app.engine.repository.repository_maps import RepositoryMaps
from app.engine.session import Session
from app.engine.user_runs.user_cells import UserCells
from app.tui.page_protocols import FindProgram
from app.tui.prompt.mcp_completions import (
    McpResourceCompletions,
    mcp_prompt_argument_completions,
    mcp_prompt_argument_hints,
)
from app.tui.prompt.project_history import ProjectPromptHistory
from tools.running.withheld_environment_variables import environment_for_child_processes
from tools.searching.ripgrep import find_bundled_ripgrep
from widgets.completion.command_completions import ArgumentSuggester, CommandCompletionSource, SlashCommandRow
from widgets.completion.completion_popup import CompletionPopup
from widgets.completion.completion_source import CompletionRequest, CompletionResult, CompletionSuggestion
from widgets.completion.file_completions import FileCompletionSource, SymbolRow, TabPathCompletionSource
from widgets.completion.file_index import FileIndex
from widgets.editor.prompt_editor import PromptEditor

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions
    from tools.filemap.file_map import Symbol

_MAX_SUGGESTED_MODELS = 200
GetExtensions = Callable[[], "ConnectedExtensions | None"]
"""Returns the extensions' additions to the session, once they are loaded."""


def make_completion_popup(
    editor: PromptEditor,
    cwd: Callable[[], Path],
    remembered: ProjectPromptHistory,
    *,
    added: Callable[[], Sequence[Path]],
    slash_command_descriptions: Callable[[], Sequence[tuple[str, str]]],
    hints: Mapping[str, str],
    arguments: Mapping[str, ArgumentSuggester],
    extended: GetExtensions,
    find_program: FindProgram,
    maps: RepositoryMaps,
    cells: UserCells,
    servers: McpServers,
    max_rows: int,
) -> CompletionPopup:
    """Creates the completion list of an editor with all its sources. `hints`: argument names of bayou's commands;
    `arguments`: their possible values, by command name."""
    rg = find_bundled_ripgrep() or find_program("rg") or "/usr/bin/rg"
    index = FileIndex(
        cwd, frecency=remembered.frecency, rg=rg, env=environment_for_child_processes(), added=added
    )

    def mention(chosen: CompletionSuggestion) -> None:
        if chosen.kind in ("file", "folder"):
            remembered.record_mentioned_files([chosen.label])

    async def symbols(path: str) -> Sequence[SymbolRow]:
        from tools.filemap.file_mapper import make_file_map_async  # noqa: PLC0415  (the mapper is loaded when it is needed)

        if not await asyncio.to_thread(maps.may_show_file, cwd() / path):
            return ()
        try:
            outline = await make_file_map_async(cwd() / path)
        except OSError:
            return ()
        return [_symbol_row(symbol) for symbol in outline.symbols]

    async def repository_symbols(name: str) -> AsyncIterator[Sequence[tuple[str, SymbolRow]]]:
        async for _ in maps.wait_for_index_growth():
            yield [(path, _symbol_row(one.symbol)) for path, one in await maps.symbols_containing(name)]

    def commands() -> list[SlashCommandRow]:
        known = {**arguments, **_extension_arguments(extended()), **mcp_prompt_argument_completions(servers)}
        return _command_rows(
            slash_command_descriptions(), known, {**hints, **mcp_prompt_argument_hints(servers)}
        )

    sources = (
        CommandCompletionSource(commands),
        McpResourceCompletions(servers),
        FileCompletionSource(index, symbols=symbols, repository_symbols=repository_symbols),
        PythonNameCompletions(
            cells.kernel_names_starting_with, lambda: editor.model.lines[0].startswith(("$ ", "$$ "))
        ),
        TabPathCompletionSource(cwd),
        _ExtensionCompletions(extended),
    )
    return CompletionPopup(editor, sources, max_rows=max_rows, on_chosen=mention, id="completion")


def _symbol_row(symbol: Symbol) -> SymbolRow:
    return SymbolRow(name=symbol.name, kind=symbol.kind, first_line=symbol.start_line)


def _command_rows(
    names: Sequence[tuple[str, str]], arguments: Mapping[str, ArgumentSuggester], hints: Mapping[str, str]
) -> list[SlashCommandRow]:
    return [
        SlashCommandRow(
            name=name,
            description=text,
            argument_hint=hints.get(name, ""),
            needs_argument=bool(hints.get(name)) and not hints[name].startswith("["),
            arguments=arguments.get(name),
        )
        for name, text in names
    ]


def slash_command_argument_sources(
    session: Session, models: ModelChoice, theme_names: Callable[[], Sequence[str]]
) -> dict[str, ArgumentSuggester]:
    """Returns, by command name, the functions that suggest arguments of bayou's own commands."""

    def model(typed: str) -> list[CompletionSuggestion]:
        session.models.reread_models_file()
        found = session.models.model_choice.available_models()[:_MAX_SUGGESTED_MODELS]
        return [
            CompletionSuggestion(text=one.key, detail=one.name, kind="argument", sends_prompt=bool(typed))
            for one in found
        ]

    def one_of(names: Callable[[], Sequence[str]]) -> ArgumentSuggester:
        return lambda typed: [
            CompletionSuggestion(text=name, kind="argument", sends_prompt=bool(typed)) for name in names()
        ]

    providers = one_of(lambda: models.catalogue.provider_ids)
    return {
        "model": model,
        "thinking": one_of(lambda: session.state.thinking_levels),
        "theme": one_of(theme_names),
        "login": providers,
        "logout": providers,
    }


def _extension_arguments(extended: ConnectedExtensions | None) -> dict[str, ArgumentSuggester]:
    if extended is None:
        return {}
    catalogue = extended.catalogue

    def of(name: str) -> ArgumentSuggester:
        async def suggest(typed: str) -> list[CompletionSuggestion]:
            found = await catalogue.complete_argument(name, typed)
            return [
                CompletionSuggestion(
                    text=item.value, label=item.label, detail=item.description, kind="argument"
                )
                for item in found
            ]

        return suggest

    return {name: of(name) for name, command in catalogue.commands().items() if command.complete is not None}


class _ExtensionCompletions:
    """The completion source that asks extensions, used if no other source has any suggestion."""

    def __init__(self, extended: GetExtensions) -> None:
        self._connected_extensions = extended

    def accepts(self, request: CompletionRequest) -> bool:
        extended = self._connected_extensions()
        return extended is not None and any(
            extension.completers for extension in extended.extensions.hooks.loaded
        )

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        extended = self._connected_extensions()
        if extended is None:
            return
        found = await extended.catalogue.complete_text(request.line, request.column)
        word = request.before.rsplit(" ", 1)[-1]
        yield CompletionResult(
            start=request.column - len(word),
            end=request.column,
            items=tuple(
                CompletionSuggestion(text=item.value, label=item.label, detail=item.description)
                for item in found
            ),
            query=word,
        )


FindNames = Callable[[str], Awaitable[Sequence[str]]]


class PythonNameCompletions:
    """The completion source for names in Python cells, whose text begins with `$`."""

    def __init__(self, kernel_names_starting_with: FindNames, is_cell: Callable[[], bool]) -> None:
        """Creates the source. `is_cell`: returns whether the editor's text is a Python cell."""
        self._find_names = kernel_names_starting_with
        self._is_cell = is_cell

    def accepts(self, request: CompletionRequest) -> bool:
        return self._is_cell() and bool(_dotted_name_before_cursor(request))

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        word = _dotted_name_before_cursor(request)
        found = await self._find_names(word)
        yield CompletionResult(
            start=request.column - len(word),
            end=request.column,
            items=tuple(
                CompletionSuggestion(text=name, kind="symbol", text_after="")
                for name in found
                if name != word
            ),
            query=word,
        )


def _dotted_name_before_cursor(request: CompletionRequest) -> str:
    """Returns the dotted Python name before the cursor; empty for numbers and inside string literals."""
    found = re.search(r"(?:[^\W\d]\w*\.)*(?:[^\W\d]\w*)?$", request.before)
    return found[0] if found is not None else ""
