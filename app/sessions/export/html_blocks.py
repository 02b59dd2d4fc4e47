"""Cards of tool calls on the exported page. One card shows a call and its result, drawn by the tool as in
the transcript."""

from collections.abc import Callable
from html import escape
from typing import assert_never

from app.sessions.export.export_texts import remove_control_characters
from app.sessions.export.html_code import HtmlCodeHighlighter, language_of_file_name
from app.values.content import ToolCall
from tools.tool_definition import make_generic_tool_card
from tools.tool_result_values import (
    Block,
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ImageBlock,
    ListBlock,
    MapBlock,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    ToolResult,
    TreeBlock,
    TreeNode,
)

DrawCard = Callable[[ToolCall, ToolResult | None], Card]
"""A function that makes the card of a tool call from the call and its result, if there is one."""

MAX_UNFOLDED_RESULT_LINES = 12
MAX_UNFOLDED_RESULT_CHARACTERS = 2_000
"""The maximum length of a result that is shown open, in characters; longer ones are folded. Diffs and failures have
the limit `MAX_UNFOLDED_DIFF_CHARACTERS`."""
MAX_UNFOLDED_DIFF_CHARACTERS = 20_000


def builtin_tool_card_drawer() -> DrawCard:
    """Returns the function that draws tool calls of a session that is not open: built-in tools draw their calls,
    all others get a plain card."""
    from tools.tool_registry import builtin_tools  # noqa: PLC0415  (only where a session has no tools)

    tools = {tool.name: tool for tool in builtin_tools()}

    def draw(call: ToolCall, result: ToolResult | None) -> Card:
        tool = tools.get(call.name)
        try:
            return (
                tool.card(call.arguments, result)
                if tool
                else make_generic_tool_card(call.name, call.arguments, result)
            )
        except Exception:  # noqa: BLE001  (arguments may be partial or a model's nonsense)
            return make_generic_tool_card(call.name, call.arguments, result)

    return draw


class HtmlToolCards:
    """Converts cards of tool calls and their blocks to escaped HTML."""

    def __init__(
        self, code: HtmlCodeHighlighter, markdown: Callable[[str], str], image: Callable[[str, str], str]
    ) -> None:
        """Creates the converter. `markdown` and `image` are functions that return safe HTML, for a text, and for
        the type and data of an image."""
        self._code = code
        self._markdown = markdown
        self._image = image

    def card(self, card: Card, *, note: str = "", is_bad: bool = False) -> str:
        """Returns the card of a tool call as HTML. `note` is shown beside the heading: the call's duration, or that
        it failed."""
        head = (
            f"<b>{escape(remove_control_characters(card.title))}</b> "
            f"<span>{escape(remove_control_characters(card.subject))}</span>"
            f"{_small_text(card.doubt)}{_small_text(card.summary)}{_small_text(note)}"
        )
        body = "".join(self.block(block, shows_path=len(card.blocks) > 1) for block in card.blocks)
        mood = " bad" if is_bad else ""
        if not body:
            return f'<p class="card{mood}">{head}</p>'
        shown = (
            " open"
            if (is_bad and _character_count(card) <= MAX_UNFOLDED_DIFF_CHARACTERS) or _is_initially_open(card)
            else ""
        )
        return f'<details class="card{mood}"{shown}><summary>{head}</summary>{body}</details>'

    def block(self, block: Block, *, shows_path: bool = False) -> str:
        match block:
            case TextBlock():
                return preformatted_html(block.text)
            case MarkdownBlock():
                return self._markdown(block.text)
            case FileBlock():
                shown = self._code.numbered_lines_html(
                    block.text, language_of_file_name(block.path), block.first_line
                )
                return shown + _note_html(block.note)
            case DiffBlock():
                path = _note_html(block.path) if shows_path else ""
                return path + self._code.diff_html(block.diff, block.path) if block.diff.strip() else path
            case CommandBlock():
                return self._command(block)
            case ListBlock():
                return f"<pre>{_list_html(block)}</pre>" + _note_html(block.note)
            case TreeBlock():
                return preformatted_html(
                    "\n".join(line for root in block.roots for line in _tree_lines(root))
                )
            case MapBlock():
                return preformatted_html(block.text or "\n".join(_symbol_lines(block)))
            case ImageBlock():
                return self._image(block.mime_type, block.data) if block.data else ""
            case TableBlock():
                return _table_html(block)
            case _:
                assert_never(block)

    def _command(self, block: CommandBlock) -> str:
        cut = _note_html("(the beginning is left out)") if block.is_cut else ""
        ending = [f"exit {block.exit_code}"] if block.exit_code is not None else []
        if block.note and block.note != f"Command exited with code {block.exit_code}":
            ending.append(block.note)
        output = self._code.terminal_output_html(block.output, block.colours) if block.output.strip() else ""
        command = f'<pre class="command"><code>{self._code.inline_html(block.command, "bash")}</code></pre>'
        return command + cut + output + _note_html(" · ".join(ending))


def _is_initially_open(card: Card) -> bool:
    weight = _character_count(card)
    if any(isinstance(block, DiffBlock | ImageBlock) for block in card.blocks):
        return weight <= MAX_UNFOLDED_DIFF_CHARACTERS
    return weight <= MAX_UNFOLDED_RESULT_CHARACTERS and _line_count(card) <= MAX_UNFOLDED_RESULT_LINES


def _block_text(block: Block) -> str:
    match block:
        case TextBlock() | MarkdownBlock() | FileBlock() | MapBlock():
            return block.text
        case DiffBlock():
            return block.diff
        case CommandBlock():
            return f"{block.command}\n{block.output}"
        case ListBlock():
            return "\n".join(block.items)
        case TableBlock():
            return "\n".join(" ".join(row) for row in block.rows)
        case TreeBlock():
            return "\n".join(line for root in block.roots for line in _tree_lines(root))
        case ImageBlock():
            return ""
        case _:
            assert_never(block)


def _character_count(card: Card) -> int:
    return sum(len(_block_text(block)) for block in card.blocks)


def _line_count(card: Card) -> int:
    return sum(_block_text(block).count("\n") + 1 for block in card.blocks)


def preformatted_html(text: str) -> str:
    return f"<pre>{escape(remove_control_characters(text))}</pre>"


def _list_html(block: ListBlock) -> str:
    """Returns the items of a list as HTML, one a line, with emphasised parts in bold."""
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, start, end in block.marks:
        marks.setdefault(at, []).append((start, end))
    return "\n".join(_bold_text(item, marks.get(at, [])) for at, item in enumerate(block.items))


def _bold_text(item: str, spans: list[tuple[int, int]]) -> str:
    if remove_control_characters(item) != item:
        return escape(remove_control_characters(item))
    out: list[str] = []
    at = 0
    for start, end in spans:
        out.append(f"{escape(item[at:start])}<b>{escape(item[start:end])}</b>")
        at = end
    return "".join(out) + escape(item[at:])


def _small_text(text: str) -> str:
    return f" <small>{escape(remove_control_characters(text))}</small>" if text else ""


def _note_html(text: str) -> str:
    return f'<p class="note">{escape(remove_control_characters(text))}</p>' if text else ""


def _tree_lines(root: TreeNode) -> list[str]:
    lines: list[str] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        lines.append(f"{'  ' * min(depth, 30)}{node.label}")
        waiting.extend((child, depth + 1) for child in reversed(node.children))
    return lines


def _symbol_lines(block: MapBlock) -> list[str]:
    return [
        f"{symbol.first_line}-{symbol.last_line} {'  ' * min(symbol.depth, 30)}{symbol.kind} {symbol.label}"
        for symbol in block.symbols
    ]


def _table_html(block: TableBlock) -> str:
    head = "".join(f"<th>{escape(remove_control_characters(cell))}</th>" for cell in block.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(remove_control_characters(cell))}</td>' for cell in row)}</tr>"
        for row in block.rows
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
