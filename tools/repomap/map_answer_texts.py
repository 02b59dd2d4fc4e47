"""Writes the answers of the repository map for the model: guesses are marked as guesses, and gaps in the index are
stated."""

from collections.abc import Sequence
from itertools import groupby

from tools.filemap.rendering.map_symbol_lines import format_line_range, utf8_byte_count
from tools.repomap.index.file_kinds import format_file_kind_note
from tools.repomap.mapped_repository import IndexState, RepositoryMapAnswer
from tools.repomap.name_lookup import SymbolDefinition, UsesOfName
from tools.repomap.repository_map_rendering import estimate_tokens
from tools.text_sanitizing import escape_controls, one_line

_MAX_MATCHED_WORDS_LISTED = 8
_MAX_MATCHED_WORD_BYTES = 120


def format_map_answer(answer: RepositoryMapAnswer, *, is_question: bool, more: str = "") -> str:
    """Returns the text of a repository map for the model, with a last line that states its limits. `more` says how
    to get the rest."""
    state = answer.index_state
    words = _format_word_list(answer.matched_words)
    named = [
        f"{_escape_path(path)} is in the index by its path alone: {escape_controls(why)}."
        for path, why in answer.omitted_files
    ]
    if not answer.ranked_map.files:
        if is_question and not answer.matched_words:
            found = "Nothing in the question can be looked for: no word of it says something."
        else:
            found = f"Nothing was found by the words {words}." if is_question else "There are no files here."
        return " ".join(filter(None, (found, *named[:3], _format_unindexed_files_note(state))))
    if not is_question or not words:
        how = ""
    elif answer.has_only_nearby_files:
        how = f", near what was read or changed here; nothing was found by the words {words}"
    else:
        how = f", by the words {words}; a guess by names"
    total = (
        state.indexed_count if state.count_below_folder is None else state.count_below_folder
    ) + state.missing_count
    shown = sum(not file.path.endswith("/") for file in answer.ranked_map.files)
    head = f"{shown} of {total:,} {'file' if total == 1 else 'files'}{how}."
    if more and answer.has_more:
        head += f" {more}"
    return "\n".join(
        (
            answer.ranked_map.text,
            " ".join(filter(None, (head, *named[:3], _format_unindexed_files_note(state)))),
        )
    )


def format_definitions_of_name(
    name: str, found: Sequence[SymbolDefinition], count: int, state: IndexState
) -> str:
    rows = [
        f"{format_definition_line(definition)}, {_escape_path(definition.path)}{_format_definition_note(definition)}"
        for definition in found
    ]
    if count > len(found):
        rows.append(f"… {count - len(found)} more of this name; say a folder with path to see fewer.")
    many = f" {count} times, by name" if count > 1 else ""
    head = f"{one_line(escape_controls(name))} is defined" + (f"{many}:" if found else " nowhere here.")
    return "\n".join(filter(None, (head, *rows, _format_unindexed_files_note(state))))


def format_name_uses(name: str, found: UsesOfName) -> str:
    if not found.listed_uses:
        return f"No other line has {one_line(escape_controls(name))} as a word."
    shown = len(found.listed_uses)
    over = "over " if found.is_cut else ""
    more = f"; the first {shown}" if found.total_count > shown else ""
    lines = "line" if found.total_count == 1 else "lines"
    files = "file" if found.file_count == 1 else "files"
    rows = [f"used on {over}{found.total_count:,} {lines} of {found.file_count:,} {files}, by name{more}:"]
    for path, uses in groupby(found.listed_uses, key=lambda use: use.path):
        rows.append(_escape_path(path))
        for (within, lines), members in groupby(uses, key=lambda use: (use.enclosing_symbol, use.span)):
            if within and lines:
                rows.append(f"  {one_line(escape_controls(within))} {format_line_range(*lines)}")
            rows += [f"    {use.line}: {one_line(escape_controls(use.text))}" for use in members]
    return "\n".join(rows)


def format_definition_line(definition: SymbolDefinition) -> str:
    symbol = definition.symbol
    name = one_line(escape_controls(definition.name))
    return f"{symbol.kind} {name} {format_line_range(symbol.start_line, symbol.end_line)}"


def truncate_to_tokens(text: str, tokens: int) -> str:
    """Cuts a text to a number of tokens at the end of a line, with a notice."""
    if estimate_tokens(text) <= tokens:
        return text
    rows: list[str] = []
    for row in text.split("\n"):
        if estimate_tokens("\n".join([*rows, row])) > tokens - 20:
            break
        rows.append(row)
    return "\n".join([*rows, "… cut here; say a folder with path for less."])


def _format_word_list(words: Sequence[str]) -> str:
    named, room = list[str](), _MAX_MATCHED_WORD_BYTES
    for word in words[:_MAX_MATCHED_WORDS_LISTED]:
        room -= utf8_byte_count(word) + 2
        if room < 0:
            break
        named.append(word)
    return ", ".join(named)


def _escape_path(path: str) -> str:
    return one_line(escape_controls(path))


def _format_definition_note(definition: SymbolDefinition) -> str:
    note = format_file_kind_note(definition.file_kind)
    return f" ({note})" if note else ""


def _format_unindexed_files_note(state: IndexState) -> str:
    told: list[str] = []
    if state.missing_count:
        missing = "1 file is" if state.missing_count == 1 else f"{state.missing_count:,} files are"
        told.append(f"The index is being made: {missing} not in it yet.")
    if state.is_listing_cut:
        told.append(f"The folder has more files than an index takes; {state.indexed_count:,} are in it.")
    if state.unreadable_folders:
        closed = ", ".join(map(_escape_path, state.unreadable_folders[:3])) + (
            ", …" if len(state.unreadable_folders) > 3 else ""
        )
        told.append(f"Cannot be read: {closed}.")
    if state.problem:
        told.append(f"The index is not up to date: {state.problem}")
    return " ".join(told)
