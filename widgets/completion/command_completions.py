"""Completion of `/` commands and of their arguments."""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from widgets.completion.completion_source import CompletionRequest, CompletionResult, CompletionSuggestion
from widgets.fuzzy_matching import FuzzyMatch, rank_fuzzy_matches

ArgumentSuggester = Callable[
    [str], Sequence[CompletionSuggestion] | Awaitable[Sequence[CompletionSuggestion]]
]


class SlashCommandRow(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command in the completion list: its name, and how its arguments are suggested."""

    name: str
    """The command's name without the slash."""
    description: str = ""
    argument_hint: str = ""
    """A placeholder for the argument: `[level]`, `<path>`."""
    needs_argument: bool = False
    arguments: ArgumentSuggester | None = None
    """Suggests arguments that start with the typed text."""


class CommandCompletionSource:
    """The completion source for slash commands and, after the name, for their arguments. Commands whose description
    matches come after those whose name matches."""

    def __init__(self, commands: Callable[[], Sequence[SlashCommandRow]]) -> None:
        self._commands = commands

    def accepts(self, request: CompletionRequest) -> bool:
        if request.row or not request.line.startswith("/") or request.column == 0:
            return False
        name, space, _ = request.before[1:].partition(" ")
        if not space:
            return re.fullmatch(r"[\w:.-]*", name) is not None
        return any(command.name == name and command.arguments for command in self._commands())

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        name, space, argument = request.before[1:].partition(" ")
        if space:
            items = await self._find_argument_suggestions(name, argument)
            yield CompletionResult(
                start=len(name) + 2, end=request.column, items=tuple(items), query=argument
            )
            return
        found = rank_fuzzy_matches(name, self._commands(), lambda command: command.name)
        if name:  # search descriptions too if no name matches
            named = {command.name for command, _ in found}
            others = [command for command in self._commands() if command.name not in named]
            found += [
                (command, FuzzyMatch(0.0, ())) for command in others if _matches_description(command, name)
            ]
        items = [_make_command_suggestion(command, name) for command, _ in found]
        yield CompletionResult(start=0, end=request.column, items=tuple(items), query=name)

    async def _find_argument_suggestions(self, name: str, argument: str) -> list[CompletionSuggestion]:
        command = next(command for command in self._commands() if command.name == name)
        if command.arguments is None:
            return []
        found = command.arguments(argument)
        if inspect.isawaitable(found):
            found = await found
        matching = [
            item
            for item, _ in rank_fuzzy_matches(argument, list(found), lambda item: item.label or item.text)
        ]
        if [item.text for item in matching] == [argument.strip()]:
            return []  # nothing is left to choose, so Enter sends
        if not argument.strip():
            return matching
        meant = [item for item in matching if argument.strip() in (item.text, item.text.rpartition("/")[2])]
        if len(meant or matching) == 1:  # the whole command is known
            [only] = meant or matching
            return [only, *(item for item in matching if item is not only)]
        return [msgspec.structs.replace(item, sends_prompt=False) for item in matching]


def _matches_description(command: SlashCommandRow, word: str) -> bool:
    return len(word) > 2 and word.lower() in command.description.lower()


def _matches_name(typed: str, name: str) -> bool:
    """Returns whether a typed text begins a command's name, or the part after its colon (`commit` for
    `skill:commit`)."""
    return name.startswith(typed) or name.rpartition(":")[2].startswith(typed)


def _make_command_suggestion(command: SlashCommandRow, typed: str) -> CompletionSuggestion:
    return CompletionSuggestion(
        text=f"/{command.name}",
        detail=command.description,
        right_text=command.argument_hint,
        kind="command",
        text_after=" ",
        sends_prompt=not command.needs_argument,
        is_guess=not _matches_name(typed, command.name),
    )
