"""What the editor completes: commands with their arguments, files, symbols of mapped files, extensions' suggestions."""

from collections.abc import AsyncIterator, Sequence

from app.tui.desk import Desk
from app.tui.slash import COMMANDS
from tools.searching.ripgrep import bundled_ripgrep
from widgets.completion.commands import Arguments, CommandCompletions, CommandRow
from widgets.completion.fileindex import FileIndex
from widgets.completion.files import FileCompletions, PathCompletions, SymbolRow
from widgets.completion.popup import CompletionPopup
from widgets.completion.source import CompletionRequest, Completions, Suggestion

_MODELS_SHOWN = 200


def popup_for(app: Desk) -> CompletionPopup:
    """The completion list of the application's editor."""
    remembered = app.remembered
    rg = bundled_ripgrep() or app.own_program("rg") or "/usr/bin/rg"
    index = FileIndex(app.session.cwd, frecency=remembered.frecency, rg=rg)

    def mention(chosen: Suggestion) -> None:
        if chosen.kind in ("file", "folder"):
            remembered.mention([chosen.label])

    async def symbols(path: str) -> Sequence[SymbolRow]:
        from tools.filemap.map import map_file_async  # noqa: PLC0415  (the mapper is loaded when it is asked for)

        try:
            outline = await map_file_async(app.session.cwd / path)
        except OSError:
            return ()
        return [
            SymbolRow(name=symbol.name, kind=symbol.kind, first_line=symbol.start_line)
            for symbol in outline.symbols
        ]

    sources = (
        CommandCompletions(lambda: _command_rows(app)),
        FileCompletions(index, symbols=symbols),
        PathCompletions(lambda: app.session.cwd),
        _ExtensionCompletions(app),
    )
    most = app.assembled.settings.editor.autocomplete_max_visible
    return CompletionPopup(app.editor, sources, most_rows=most, on_chosen=mention, id="completion")


def _command_rows(app: Desk) -> list[CommandRow]:
    hints = {command.name: command.hint for command in COMMANDS}
    arguments = {name: make(app) for name, make in _ARGUMENTS.items()} | _extension_arguments(app)
    return [
        CommandRow(
            name=name,
            description=text,
            argument_hint=hints.get(name, ""),
            needs_argument=bool(hints.get(name)) and not hints[name].startswith("["),
            arguments=arguments.get(name),
        )
        for name, text in app.key_table.command_names()
    ]


def _models(app: Desk):
    def suggest(typed: str) -> list[Suggestion]:
        models = app.session.choice.available()[:_MODELS_SHOWN]
        return [Suggestion(text=model.key, detail=model.name, kind="argument") for model in models]

    return suggest


def _levels(app: Desk):
    return lambda typed: [Suggestion(text=level, kind="argument") for level in app.session.choice.levels]


def _themes(app: Desk):
    return lambda typed: [Suggestion(text=name, kind="argument") for name in app.looks.names()]


def _providers(app: Desk):
    return lambda typed: [
        Suggestion(text=name, kind="argument") for name in app.session.choice.catalogue.providers
    ]


def _extension_arguments(app: Desk) -> dict[str, Arguments]:
    if app.extended is None:
        return {}
    catalogue = app.extended.wiring.catalogue

    def of(name: str) -> Arguments:
        async def suggest(typed: str) -> list[Suggestion]:
            found = await catalogue.complete_argument(name, typed)
            return [
                Suggestion(text=item.value, label=item.label, detail=item.description, kind="argument")
                for item in found
            ]

        return suggest

    return {name: of(name) for name, command in catalogue.commands().items() if command.complete is not None}


_ARGUMENTS = {
    "model": _models,
    "thinking": _levels,
    "theme": _themes,
    "login": _providers,
    "logout": _providers,
}


class _ExtensionCompletions:
    """What extensions suggest, where nobody else does."""

    def __init__(self, app: Desk) -> None:
        self._app = app

    def accepts(self, request: CompletionRequest) -> bool:
        extended = self._app.extended
        return extended is not None and any(extension.completers for extension in extended.extensions.loaded)

    async def complete(self, request: CompletionRequest) -> AsyncIterator[Completions]:
        if self._app.extended is None:
            return
        found = await self._app.extended.wiring.catalogue.complete(request.line, request.column)
        word = request.before.rsplit(" ", 1)[-1]
        yield Completions(
            start=request.column - len(word),
            end=request.column,
            items=tuple(
                Suggestion(text=item.value, label=item.label, detail=item.description) for item in found
            ),
            query=word,
        )
