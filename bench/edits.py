"""Measures cost and accuracy of edits: the syntax check against an edit without it, anchors
against plain text, false alarms and missed closing lines in real files of many languages, and
a rewrite of many files against reading them."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.edit_corpus import CorpusFile, closer_removals, corpus, count_languages, harmless_edits
from bench.table import Row
from tools.argument_schema import validate_tool_arguments
from tools.builtin.ast_grep import make_ast_edit_tool
from tools.edits.dialects.line_anchors import format_anchored_rows as format_anchored_rows
from tools.edits.dialects.old_text_matching import SearchableText, TextEdit
from tools.edits.dialects.old_text_replacement import TextReplacement
from tools.edits.edit_checks import check_edits
from tools.edits.edited_text import apply_replacements
from tools.edits.shown_lines import NO_LINES_SHOWN_TO_MODEL
from tools.edits.syntax_checks import FileSyntaxCheck, NewSyntaxError, SyntaxCheckCache
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolContext, ToolError

_LANGUAGES_WITH_CLOSERS = ("javascript", "typescript", "go", "rust", "java", "python")
_LINES = 440_000


def rows() -> Iterable[Row]:
    yield _syntax_check_cost()
    yield from _syntax_check_accuracy()
    yield _anchor_cost()
    yield from asyncio.run(_rewrite())


def _syntax_of(name: str, text: str) -> FileSyntaxCheck:
    return SyntaxCheckCache().check_file(name, text)


def _syntax_check_cost() -> Row:
    dearer: list[float] = []
    plain: list[float] = []
    for file in [file for file in corpus() if 24_000 < len(file.text) < 40_000]:
        lines = file.text.split("\n")
        line = next((line for line in lines[len(lines) // 2 :] if file.text.count(line) == 1), "")
        if not line.strip():
            continue
        edit = (TextReplacement(old_text=line, new_text=f"{line} "),)
        without, with_it = (
            _seconds(
                partial(
                    apply_replacements,
                    file.text.encode(),
                    edit,
                    file.name,
                    NO_LINES_SHOWN_TO_MODEL,
                    partial(_syntax_of, name),
                )
            )
            for name in ("", file.name)
        )
        plain.append(without)
        dearer.append(with_it - without)
    return Row(
        name=f"an edit in a file of 24 to 40 KB, checked ({len(dearer)} files), CPU",
        figure=median(dearer) * 1000,
        unit="ms more",
        ratio=(median(plain) + median(dearer)) / median(plain),
        reference="the same edit unchecked",
        limit="3 ms",
    )


def _syntax_check_accuracy() -> Iterable[Row]:
    files, luck = corpus(), random.Random(7)
    found = [file.problems(span) for file in files for span in harmless_edits(file, 34, luck)]
    looked_at = [one for one in found if one is not None]
    yield Row(
        name=f"false alarms in {len(looked_at):,} harmless edits, {count_languages(files)} languages",
        figure=sum(map(bool, looked_at)) / len(looked_at) * 100,
        unit="%",
        limit="0.5 %",
    )
    yield _false_framing_alarms(files, luck)
    for name in _LANGUAGES_WITH_CLOSERS:
        yield _accuracy_row(name, [file for file in files if file.grammar == name], luck)


def _false_framing_alarms(files: Sequence[CorpusFile], luck: random.Random) -> Row:
    """Inserts lines of real files where they come from; none may be taken for result framing or wrong
    escapes."""
    told = count = 0
    for file in files:
        lines = file.text.split("\n")
        for _ in range(34):
            first = luck.randrange(len(lines))
            size = luck.randint(1, 12)
            rest = "\n".join(lines[:first] + lines[first + size :])
            start = sum(map(len, lines[:first])) + first
            made = "\n".join(lines[first : first + size]) + "\n"
            span = TextEdit(
                start=min(start, len(rest)), end=min(start, len(rest)), new_text=made, strategy="exact"
            )
            count += 1
            try:
                told += any(
                    "was meant" in note
                    for note in check_edits(SearchableText(rest), (span,), NoSyntaxCheck(), file.name).notes
                )
            except ToolError as problem:
                told += "result" in str(problem) or "their numbers" in str(problem)
    return Row(
        name=f"lines of real files taken for framing or wrong escapes, {count:,} insertions",
        figure=told / count * 100,
        unit="%",
        limit="0.5 %",
    )


class NoSyntaxCheck:
    """A replacement that checks no syntax."""

    is_known = True
    accepts_code_fences = False

    def find_new_syntax_errors(self, text: str, spans: Sequence[TextEdit]) -> tuple[NewSyntaxError, ...]:
        return ()


def _accuracy_row(name: str, files: Sequence[CorpusFile], luck: random.Random) -> Row:
    problems = [file.problems(span) for file in files for span in closer_removals(file, 20, luck)]
    found = [one for one in problems if one is not None]  # on a busy machine some take too long
    return Row(
        name=f"lost closing lines found, {name} ({len(found)})",
        figure=sum(map(bool, found)) / len(found) * 100,
        unit="%",
        limit="97 %",
    )


def _anchor_cost() -> Row:
    texts = [file.text for file in corpus()]
    plain = sum(map(len, texts))
    anchored = sum(len(format_anchored_rows(text.split("\n"), 1)) for text in texts)
    return Row(
        name="files as they are read with anchors, characters",
        figure=anchored,
        unit="characters",
        ratio=anchored / plain,
        reference="without",
        limit="1.42x in tokens",
    )


async def _rewrite() -> Iterable[Row]:
    """Measures a rewrite of many TypeScript files, and the event loop meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        lines = _fill(Path(folder), [file for file in corpus() if file.grammar == "typescript"])
        read = _seconds(lambda: [path.read_bytes() for path in Path(folder).iterdir()])
        workspace = SessionWorkspace(Path(folder))
        tool = make_ast_edit_tool()
        rewrites = [{"pattern": "super($$$A)", "replacement": "parent($$$A)"}]
        arguments = validate_tool_arguments(tool, {"rewrites": rewrites, "include_broken": True})
        context = ToolContext(call_id="bench", cwd=Path(folder), workspace=workspace)
        stillest = own = 0.0
        running = asyncio.ensure_future(tool.run(arguments, context))
        began = time.perf_counter()
        while not running.done():
            before, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.001)
            own = max(own, time.process_time() - worked)
            stillest = max(stillest, time.perf_counter() - before - 0.001)
        took = time.perf_counter() - began
        workspace.close()
    return (
        Row(
            name=f"a rewrite staged in {lines:,} lines of TypeScript",
            figure=took,
            unit="s",
            ratio=took / read,
            reference="reading the files",
            limit="3 s",
        ),
        Row(
            name="the longest that the loop stood still meanwhile",
            figure=stillest * 1000,
            unit="ms",
            limit="16 ms",
        ),
        Row(
            name="of which bayou itself was at work, in any thread, CPU",
            figure=own * 1000,
            unit="ms",
            limit="16 ms",
        ),
    )


def _fill(folder: Path, files: Sequence[CorpusFile]) -> int:
    lines = number = 0
    while lines < _LINES:
        text = files[number % len(files)].text
        (folder / f"f{number}.ts").write_text(text)
        lines += text.count("\n")
        number += 1
    return lines


def _seconds(work: Callable[[], object]) -> float:
    found: list[float] = []
    for _ in range(5):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)
