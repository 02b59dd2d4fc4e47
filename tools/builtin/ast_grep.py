"""The tools `ast_grep` and `ast_edit`: search and rewrite code by its syntax; rewrites are staged, not written."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tools.argument_schema import make_arguments_schema
from tools.ast_search.ast_grep_languages import search_language_named, search_language_of_file
from tools.ast_search.replacement_templates import find_pattern_variables
from tools.ast_search.search_client import search_structurally
from tools.ast_search.search_messages import (
    FileToSearchStructurally,
    PatternRewrite,
    StructuralMatchesOfFile,
    StructuralSearchAnswer,
    StructuralSearchDone,
    StructuralSearchProblem,
    StructuralSearchRequest,
)
from tools.builtin.ls import make_item_list_card
from tools.call_effects import Effects
from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.diffs import make_diff_of_spans
from tools.edits.edit_card import make_edit_card, make_file_details
from tools.edits.editable_text import decode_text_file
from tools.edits.files_named_by_edits import objects_in_list_argument
from tools.edits.staged_actions import StagedAction, StagedFile, UnknownStagedAction
from tools.files.file_changes import hash_file_content
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments
from tools.files.paths import absolute_path, display_path
from tools.number_formatting import count_with_noun
from tools.result_limits import clip_result_line, keep_first_lines
from tools.searching.ripgrep import DEFAULT_RIPGREP_ARGUMENTS, find_ripgrep, run_ripgrep
from tools.searching.withheld_files import make_withheld_file_test
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import number_in_result_details
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, Json, ToolResult, text_result

_DEFAULT_AST_GREP_MATCH_LIMIT: Final = 100
_MAX_AST_GREP_MATCHES_WITH_CAPTURES: Final = 20
_MAX_LISTED_SKIPPED_FILES: Final = 8
_MAX_FILES_SHOWN_BY_AST_EDIT: Final = 50

SearchedPathsArgument = Annotated[
    tuple[str, ...] | None,
    msgspec.Meta(description="Files, folders or globs (src/**/*.ts); the working directory by default"),
]
SearchedLanguageArgument = Annotated[str | None, msgspec.Meta(description="Only files of this language")]


class AstGrepArguments(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[
        str, msgspec.Meta(description="Code; $X stands for one node, $$$X for any number: foo($A, $$$REST)")
    ]
    paths: SearchedPathsArgument = None
    language: SearchedLanguageArgument = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Maximum matches to show (100)")
    ] = None

    def effects(self, context: ToolContext) -> Effects:
        return _declare_search_effects(self.paths, context)


class StructuralRewriteArgument(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[str, msgspec.Meta(description="Code; $X stands for one node, $$$X for any number")]
    replacement: Annotated[str, msgspec.Meta(description="Code with the same $X and $$$X; empty removes")]


class AstEditArguments(msgspec.Struct, frozen=True, kw_only=True):
    rewrites: Annotated[
        Annotated[tuple[StructuralRewriteArgument, ...], msgspec.Meta(min_length=1)],
        msgspec.Meta(description="Applied together; matches inside other matches are skipped"),
    ]
    paths: SearchedPathsArgument = None
    language: SearchedLanguageArgument = None
    include_broken: Annotated[
        bool | None, msgspec.Meta(description="Also files that would have new syntax errors")
    ] = None

    def effects(self, context: ToolContext) -> Effects:
        found = _declare_search_effects(self.paths, context)
        return msgspec.structs.replace(found, stages=(*found.reads, *found.globs))


def make_ast_grep_tool() -> Tool:
    return Tool(
        name="ast_grep",
        description=(
            "Find code by its structure: calls, declarations, statements, in any layout. The "
            "pattern is a "
            "whole piece of code of the language (an expression or a statement). Respects .gitignore."
        ),
        schema=make_arguments_schema(AstGrepArguments),
        arguments=AstGrepArguments,
        effects=AstGrepArguments.effects,
        kind="search",
        run=_run_ast_grep_call,
        show=_make_ast_grep_card,
        snippet="Find code by its structure",
        is_read_only=True,
        is_active=False,
    )


def make_ast_edit_tool() -> Tool:
    return Tool(
        name="ast_edit",
        description=(
            "Rewrite code by its structure in many files, e.g. to rename calls or change arguments. "
            "Nothing is "
            "written: the result is a preview, and resolve applies or discards it."
        ),
        schema=make_arguments_schema(AstEditArguments),
        arguments=AstEditArguments,
        effects=AstEditArguments.effects,
        kind="edit",
        run=_run_ast_edit_call,
        show=_make_ast_edit_card,
        snippet="Rewrite code by its structure in many files",
        is_read_only=True,
        is_active=False,
    )


def _declare_search_effects(paths: Sequence[str] | None, context: ToolContext) -> Effects:
    plain = _remove_globs_from_paths(paths)
    globs = tuple(absolute_path(path, context.cwd) for path in paths or () if path not in plain)
    return Effects(reads=resolve_path_arguments(context, *(plain or (() if globs else (None,)))), globs=globs)


def _remove_globs_from_paths(paths: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(path for path in paths or () if not any(sign in path for sign in "*?[{"))


class _StructuralResults:
    """Collects the matches and problems that the structural search has reported so far."""

    def __init__(self) -> None:
        self.results: list[StructuralMatchesOfFile] = []
        self.problems: list[str] = []


async def _search_structurally(
    rewrites: tuple[PatternRewrite, ...],
    paths: Sequence[str] | None,
    language: str | None,
    context: ToolContext,
) -> tuple[_StructuralResults, StructuralSearchDone]:
    workspace = workspace_of_context(context)
    if not workspace.has_local_files:
        raise ToolError(
            "Structural search works only on this machine, and these files are on another one. Use grep."
        )
    if any(not rewrite.pattern.strip() for rewrite in rewrites):
        raise ToolError("The pattern is empty. Pass the code to look for.")
    wanted = search_language_named(language) if language else None
    if language and wanted is None:
        raise ToolError(f"{one_line(language)} is not a language that structural search supports.")
    folders = [
        await asyncio.to_thread(resolve_path_argument, workspace, path, context)
        for path in _remove_globs_from_paths(paths)
    ]
    globs = [path for path in paths or () if path not in _remove_globs_from_paths(paths)]
    files = await _list_files_to_search(workspace, folders, globs, context.cwd, wanted)
    if not files:
        raise ToolError("There are no files here in a language that structural search supports.")
    found = _StructuralResults()

    def take(answers: list[StructuralSearchAnswer]) -> None:
        for answer in answers:
            if isinstance(answer, StructuralMatchesOfFile):
                found.results.append(answer)
            elif isinstance(answer, StructuralSearchProblem):
                found.problems.append(answer.words)

    done = await search_structurally(StructuralSearchRequest(files=tuple(files), rewrites=rewrites), take)
    return found, done


async def _run_ast_grep_call(arguments: AstGrepArguments, context: ToolContext) -> ToolResult:
    rewrites = (PatternRewrite(pattern=arguments.pattern),)
    found, done = await _search_structurally(rewrites, arguments.paths, arguments.language, context)
    if not found.results:
        return _make_no_match_result(found, done)
    limit = arguments.limit or _DEFAULT_AST_GREP_MATCH_LIMIT
    total = sum(len(result.found) for result in found.results)
    rows: list[str] = []
    for result in sorted(found.results, key=lambda result: result.path):
        path = display_path(result.path, context.cwd)
        for node in result.found[: max(0, limit - len(rows))]:
            captures = "".join(f"  ${name} = {one_line(text)}" for name, text in node.captures.items())
            rows.append(
                clip_result_line(
                    f"{path}:{node.line}: "
                    f"{escape_controls(node.text)}{captures if total <= _MAX_AST_GREP_MATCHES_WITH_CAPTURES else ''}"
                )[0]
            )
    cut = keep_first_lines("\n".join(rows))
    notices = [f"{limit} of {total} matches. Use limit={limit * 2} for more"] if total > limit else []
    notices += found.problems[:_MAX_LISTED_SKIPPED_FILES]
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    return text_result(escape_controls(text), details={"matches": total, "files": len(found.results)})


def _make_no_match_result(found: _StructuralResults, done: StructuralSearchDone) -> ToolResult:
    if found.problems and not done.searched:
        raise ToolError(
            "Nothing was searched. " + escape_controls("\n".join(found.problems[:_MAX_LISTED_SKIPPED_FILES]))
        )
    read = "; ".join(done.pattern_readings[:_MAX_LISTED_SKIPPED_FILES])
    text = (
        f"No matches in {done.searched} files. The pattern was read as: {read}. Two usual reasons: it "
        f"needs a whole "
        "statement or expression; and in f(a=$X) the argument is a separate node, so f($$$ARGS) finds more."
    )
    return text_result(escape_controls(text), details={"matches": 0, "files": 0})


async def _run_ast_edit_call(arguments: AstEditArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    for rewrite in arguments.rewrites:
        unknown = set(find_pattern_variables(rewrite.replacement)) - set(
            find_pattern_variables(rewrite.pattern)
        )
        if unknown:
            names = ", ".join(f"${name}" for name in sorted(unknown))
            raise ToolError(
                f"The replacement has {names}, which its pattern does not capture. Nothing was staged."
            )
    rewrites = tuple(
        PatternRewrite(pattern=rewrite.pattern, replacement=rewrite.replacement)
        for rewrite in arguments.rewrites
    )
    found, done = await _search_structurally(rewrites, arguments.paths, arguments.language, context)
    if not found.results:
        return _make_no_match_result(found, done)
    staged, broken, gone = await asyncio.to_thread(
        _make_staged_files, workspace, found.results, context.cwd, takes_broken=bool(arguments.include_broken)
    )
    notes = _format_skipped_notes(found, broken, gone)
    if not staged:
        return text_result(
            escape_controls("\n".join(["Nothing would change.", *notes])), details={"matches": 0}
        )
    replacements = sum(
        len(result.replacements) for result in found.results if result.path in {file.path for file in staged}
    )
    label = (
        f"AST Edit: {count_with_noun(replacements, 'replacement')} in {count_with_noun(len(staged), 'file')}"
    )
    try:
        action = workspace.staged_actions.stage_action(label, "ast_edit", staged)
    except UnknownStagedAction as problem:
        raise ToolError(str(problem)) from None
    several = f" (id {action.id})" if len(workspace.staged_actions.pending_staged_actions) > 1 else ""
    notes.append(f"Nothing was written yet. Call resolve{several} with apply or discard.")
    return await asyncio.to_thread(_make_staged_result, action, notes)


def _make_staged_result(action: StagedAction, notes: Sequence[str]) -> ToolResult:
    """Builds the result of an `ast_edit` call, whose rewrites are staged; in a thread, because the diff of many files
    is long."""
    cut = keep_first_lines(escape_controls(action.patch))
    rest = (
        f"\n[{count_with_noun(len(action.files), 'file')}; the diff is cut at 50 KB]" if cut.truncated else ""
    )
    text = "\n".join([action.label, cut.content + rest, *map(escape_controls, notes)])
    return text_result(text, details=_make_ast_edit_details(action.files, action.label, action.id))


def _format_skipped_notes(found: _StructuralResults, broken: Sequence[str], gone: Sequence[str]) -> list[str]:
    left = [line for result in found.results for line in result.skipped]
    nested = sum(result.nested for result in found.results)
    notes = [f"Left alone: {one_line(line)}" for line in left[:_MAX_LISTED_SKIPPED_FILES]]
    if len(left) > _MAX_LISTED_SKIPPED_FILES:
        notes.append(f"… and {len(left) - _MAX_LISTED_SKIPPED_FILES} more left alone.")
    notes += [
        f"Left out, as it would have a new syntax error: {one_line(line)}"
        for line in broken[:_MAX_LISTED_SKIPPED_FILES]
    ]
    if len(broken) > _MAX_LISTED_SKIPPED_FILES:
        notes.append(f"… and {len(broken) - _MAX_LISTED_SKIPPED_FILES} more files left out.")
    if broken:
        notes.append("Use include_broken to have them as well.")
    notes += [
        f"Left out, as it changed meanwhile: {one_line(path)}" for path in gone[:_MAX_LISTED_SKIPPED_FILES]
    ]
    if nested:
        notes.append(f"{nested} matches lie within others; run it again for them.")
    return [*notes, *(one_line(problem) for problem in found.problems[:_MAX_LISTED_SKIPPED_FILES])]


def _make_staged_files(
    workspace: SessionWorkspace, results: Sequence[StructuralMatchesOfFile], cwd: Path, *, takes_broken: bool
) -> tuple[list[StagedFile], list[str], list[str]]:
    staged: list[StagedFile] = []
    broken: list[str] = []
    gone: list[str] = []
    for result in sorted(results, key=lambda result: result.path):
        if not result.replacements:
            continue
        shown = display_path(result.path, cwd)
        if result.problems and not takes_broken:
            broken.append(f"{shown}, {result.problems[0]}")
            continue
        try:
            with workspace.files.open(result.path) as file:
                data = file.read()
            if hash_file_content(data) != result.digest:
                raise OSError
            text = decode_text_file(data, shown)
        except (OSError, ToolError):
            gone.append(shown)
            continue
        spans = [
            TextEdit(start=part.start, end=part.end, new_text=part.text, strategy="exact")
            for part in result.replacements
        ]
        staged.append(
            StagedFile(
                path=result.path,
                display_path=shown,
                before_hash=result.digest,
                new_content=text.encode_with_edits(spans, shown),
                diff=make_diff_of_spans(
                    shown, text.text, [(span.start, span.end, span.new_text) for span in spans]
                ),
            )
        )
    return staged, broken, gone


def _make_ast_edit_details(staged: Sequence[StagedFile], label: str, id: str) -> dict[str, Any]:
    return {
        "label": label,
        "pending": id,
        "added": sum(file.diff.added for file in staged),
        "removed": sum(file.diff.removed for file in staged),
        "files": [
            make_file_details(file.display_path, file.diff.patch[:50_000], file.diff.added, file.diff.removed)
            for file in staged[:_MAX_FILES_SHOWN_BY_AST_EDIT]
        ],
    }


def _first_pattern(arguments: Mapping[str, Any]) -> str:
    pattern: Json = arguments.get("pattern")
    rewrites = objects_in_list_argument(arguments, "rewrites")
    if not isinstance(pattern, str) and rewrites:
        pattern = rewrites[0].get("pattern")
    return one_line(pattern)[:200] if isinstance(pattern, str) else ""


def _make_ast_grep_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    card = make_item_list_card("ast_grep", _first_pattern(arguments), result, "lines")
    matches = number_in_result_details(result.details, "matches") if result else None
    if matches is None:
        return card
    files = number_in_result_details(result.details, "files") if result else 0
    summary = f"{count_with_noun(matches, 'match', 'matches')} in {count_with_noun(files or 0, 'file')}"
    return msgspec.structs.replace(card, summary=summary)


def _make_ast_edit_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    card = make_edit_card("ast_edit", _first_pattern(arguments), result, lambda: "")
    if result is None or not result.details or "pending" not in result.details:
        return card
    return msgspec.structs.replace(card, subject=_first_pattern(arguments), summary=f"{card.summary}, staged")


async def _list_files_to_search(
    workspace: SessionWorkspace, places: Sequence[str], globs: Sequence[str], cwd: Path, language: str | None
) -> list[FileToSearchStructurally]:
    """Returns the files to search structurally, sorted: those that ripgrep lists in supported languages below `places`,
    which are absolute; by default below `cwd`."""
    single = [place for place in places if workspace.files.stat(place).kind == "file"]
    folders = [place for place in places if place not in single] or ([] if single else [str(cwd)])
    names = set(single)
    rg = await find_ripgrep(workspace)
    for folder in folders:
        found: list[bytes] = []

        def take(lines: list[bytes], found: list[bytes] = found) -> bool:
            found.extend(lines)
            return True

        wanted = tuple(f"--glob={glob.removeprefix('./')}" for glob in globs)
        await run_ripgrep(
            workspace,
            (rg, "--files", "--null", *DEFAULT_RIPGREP_ARGUMENTS, *wanted, "./"),
            folder,
            b"\0",
            take,
        )
        names |= await asyncio.to_thread(
            _filter_searchable_paths, folder, found, make_withheld_file_test(workspace, folder)
        )
    return await asyncio.to_thread(_filter_files_by_language, sorted(names), language)


def _filter_searchable_paths(
    folder: str, found: Sequence[bytes], is_kept_back: Callable[[str], bool]
) -> set[str]:
    """Filters the listed paths by language and permission; in a thread, because a repository may have a hundred
    thousand."""
    below = folder.rstrip("/")
    names = (name.decode(errors="surrogateescape").removeprefix("./") for name in found if name)
    return {f"{below}/{name}" for name in names if not is_kept_back(name)}


def _filter_files_by_language(names: Sequence[str], language: str | None) -> list[FileToSearchStructurally]:
    out: list[FileToSearchStructurally] = []
    for name in names:
        found = search_language_of_file(name) if _is_valid_utf8(name) else None
        if found is not None and language in (None, found, "typescript" if found == "tsx" else None):
            out.append(FileToSearchStructurally(path=name, language=found))
    return out


def _is_valid_utf8(path: str) -> bool:
    """Returns whether a path is valid UTF-8; other paths cannot be reported by the search process."""
    return path.encode("utf-8", "replace").decode() == path
