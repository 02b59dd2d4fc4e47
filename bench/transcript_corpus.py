"""Random conversations of any length with a fixed seed, and replies that are hard to draw."""

import random

from tools.tool_result_values import Card, CommandBlock, DiffBlock, FileBlock
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    Block,
    ReplyBlock,
    ReplyProse,
    ReplyThinking,
    ToolCallBlock,
    UserPromptBlock,
)

_TEXT = (
    "the quick brown transcript renders streaming markdown with cached strips and stable heights while a model "
    "writes prose about code tests tables lists files functions errors and results in a terminal"
)
_WORDS = _TEXT.split()


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(words)).capitalize() + "."


def markdown(chance: random.Random, parts: int) -> str:
    return "\n\n".join(_part(chance) for _ in range(parts))


def _part(chance: random.Random) -> str:
    match chance.choices(("prose", "list", "heading", "code", "table"), (50, 15, 10, 20, 5))[0]:
        case "prose":
            return f"{sentence(chance, chance.randint(15, 60))} **{sentence(chance, 3)}** and `code`."
        case "list":
            return "\n".join(
                f"- {sentence(chance, chance.randint(4, 18))}" for _ in range(chance.randint(2, 7))
            )
        case "heading":
            return f"## {sentence(chance, 4)}"
        case "code":
            functions = (
                f"def f{n}(x):\n    '''{sentence(chance, 4)}'''\n    return x + {n}" for n in range(4)
            )
            return "```python\n" + "\n".join(functions) + "\n```"
        case _:
            rows = (f"| {sentence(chance, 2)} | {sentence(chance, 5)} |" for _ in range(5))
            return "| a | b |\n|---|---|\n" + "\n".join(rows)


def conversation(count: int) -> list[Block]:
    chance = random.Random(7)
    return [_block(chance, number) for number in range(count)]


def _block(chance: random.Random, number: int) -> Block:
    name = f"b{number}"
    match number % 10:
        case 0:
            return UserPromptBlock(id=name, text=sentence(chance, chance.randint(5, 60)))
        case 1 | 5 | 9:
            prose = ReplyProse(text=markdown(chance, chance.randint(1, 5)))
            return ReplyBlock(id=name, parts=(ReplyThinking(text=sentence(chance, 80), seconds=3.0), prose))
        case 2 | 6:
            code = "\n".join(f"x_{n} = {sentence(chance, 6)!r}" for n in range(chance.randint(5, 80)))
            card = Card(title="read", subject=f"f{number}.py", blocks=(FileBlock(path="f.py", text=code),))
        case 3 | 7:
            output = "\n".join(sentence(chance, 8) for _ in range(chance.randint(3, 60)))
            card = Card(
                title="bash",
                subject="make",
                blocks=(CommandBlock(command="make", output=output, exit_code=0),),
            )
        case 4:
            lines = "\n".join(
                f"-old {sentence(chance, 5)}\n+new {sentence(chance, 5)}\n same" for _ in range(5)
            )
            card = Card(
                title="edit",
                subject="f.py",
                blocks=(DiffBlock(path="f.py", diff=f"@@ -1,9 +1,9 @@\n{lines}"),),
            )
        case _:
            return AppNoteBlock(id=name, text=sentence(chance, 10))
    return ToolCallBlock(id=name, card=card)


def hard_replies() -> dict[str, str]:
    chance = random.Random(3)
    row = "| item {} | some words here | 12 | `code` | the end of it |\n"
    head = "| name | what | count | code | more |\n|---|---|--:|---|---|\n"
    return {
        "150 bullets": "".join(f"- {sentence(chance, 8)}\n" for _ in range(150)),
        "800 paragraphs": "\n\n".join(sentence(chance, 12) for _ in range(800)),
        "1,000-line fence": "```python\n"
        + "".join(f"value_{n} = call({n}, 'text')  # note\n" for n in range(1_000))
        + "```\n",
        "150-row table": head + "".join(row.format(n) for n in range(150)),
        "500-row table": head + "".join(row.format(n) for n in range(500)),
        "40 KB paragraph": " ".join(sentence(chance, 12) + " *soft* `code`" for _ in range(430)),
    }
