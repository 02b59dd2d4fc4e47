"""The guide's decision: one answer to one context. A pure function, so that the same question has the same answer."""

import re
from typing import assert_never

import msgspec

from app.providers.contract import Context
from app.providers.offline import demos
from app.providers.offline.followups import in_full
from app.providers.offline.forms import FORMS, greeting, help_text
from app.providers.offline.plans import PlannedAnswer, PlannedCall, plan, planned, purposes
from app.providers.offline.remarks import with_offers
from app.providers.offline.situation import Round, Situation, situation_of
from app.providers.offline.summaries import is_summary_request, summary
from app.providers.offline.telling import fenced_end, first_line, names_in, tell
from app.providers.offline.wishes import Demo, Help, Incomplete, Remark, Talking, Unclear
from app.providers.offline.written_prompts import answer_to_written
from app.values.cells import CELL
from app.values.content import text_of
from app.values.messages import CustomMessage

_ENDED = re.compile(r"Background \S+ \((?P<title>.*)\) has ended: (?P<state>\w+)\.", re.DOTALL)
_ABOUT_TODOS = {
    "todo-list": "I see that you changed the list of todos.",
    "todo-reminder": "Some todos are still open. I am no language model and cannot do them by myself. `todos` tells "
    "the list, `todo done ITEM` closes one: which one is done?",
}
_DEMO_TOOLS = (
    planned("ls", "list", "`.`"),
    planned("bash", "wait", "a second", command="sleep 1; echo one second later"),
    planned("read", "read", "a file that is not there", path="a-file-that-does-not-exist"),
)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    thinking: str = ""
    text: str = ""
    steps: tuple[PlannedCall, ...] = ()
    error: str = ""
    """Ends the answer as a failure in these words."""


def answer_to(context: Context) -> Reply:
    if is_summary_request(context):
        return Reply(text=summary(context))
    if written := answer_to_written(context):
        return Reply(text=written)
    situation = situation_of(context)
    if not situation.request:  # none was made, or a compaction in the middle of a turn summarised it
        return Reply(text=_told(situation) or "There is nothing to answer. " + _examples())
    said = in_full(situation)
    if said.answer:
        return Reply(text=_joined(_told(situation), said.answer))
    todo = plan(said.request, situation)
    return _next(todo, situation) if situation.rounds else _first(todo, situation)


def _first(todo: PlannedAnswer, situation: Situation) -> Reply:
    """The answer that begins with a request."""
    demo = next((wish for wish in todo.talk if isinstance(wish, Demo)), None)
    steps = todo.groups[0] if todo.groups else ()
    if demo is not None and demo.kind == "tools":
        steps = tuple(step for step in _DEMO_TOOLS if step.tool in situation.tools)
    text = _joined(
        _told(situation),
        _images(situation),
        *(_talk(wish) for wish in todo.talk),
        *todo.refusals,
        f"I will {purposes(steps)}." if steps else "",
    )
    error = demos.ERROR if demo is not None and demo.kind == "error" else ""
    return Reply(thinking=_thoughts(todo, steps), text=text, steps=steps, error=error)


def _next(todo: PlannedAnswer, situation: Situation) -> Reply:
    """Where a request of several groups stands, read from what was done for it."""
    told = _told(situation)
    rounds, groups = situation.rounds, todo.groups
    done, last = len(rounds), rounds[-1]
    if not last:
        return Reply(text=told or "I have nothing to add.")
    if done > 1 and _has_failed(rounds[-2]):
        return _offer(told, last, rounds[-2])  # the last round looked for what the one before did not find
    if any(_has_failed(earlier) for earlier in rounds[:-1]):
        return Reply(text=told)  # and this one read it: that is all
    if _has_failed(last):
        return _after_failure(told, situation, groups[done:])
    if done < len(groups):
        steps = groups[done]
        return Reply(
            thinking=f"{done} of {len(groups)} steps are done; next: {purposes(steps)}.",
            text=_joined(told, f"Next I will {purposes(steps)}."),
            steps=steps,
        )
    if todo.is_overview and done == len(groups):
        return _what_it_says(told, situation)
    return Reply(text=_joined(told, *_found_offers(last)))


def _what_it_says(told: str, situation: Situation) -> Reply:
    """The folder is known: what in it tells what the project is?"""
    listed = [exchange for exchange in situation.rounds[-1] if exchange.call.name == "ls"]
    names = (name for exchange in listed for name in names_in(exchange))
    readme = next((name for name in names if name.lower().startswith("readme") and name[-1] != "/"), None)
    if readme is None or "read" not in situation.tools:
        return Reply(text=_joined(told, "No README says more. `map FILE` shows what is in a file."))
    step = planned("read", "read", f"`{readme}`", path=readme)
    return Reply(
        text=_joined(told, f"I will {purposes((step,))}: it should say what this is."), steps=(step,)
    )


def _after_failure(told: str, situation: Situation, left: tuple[tuple[PlannedCall, ...], ...]) -> Reply:
    dropped = f"I stopped there and did not {purposes(left[0])}." if left else ""
    names = _missing_names(situation.rounds[-1])
    if names and "find" in situation.tools:
        steps = tuple(planned("find", "find", f"`*{name}*`", pattern=f"*{name}*") for name in names)
        return Reply(
            thinking="A file is not where it was said to be. Perhaps it is elsewhere: I look for its name.",
            text=_joined(told, dropped, f"I will {purposes(steps)}: perhaps it is somewhere else."),
            steps=steps,
        )
    return Reply(text=_joined(told, dropped, "What shall I do instead?"))


def _offer(told: str, last: Round, failed: Round) -> Reply:
    call = failed[0].call if len(failed) == 1 else None
    verb = "map" if call is not None and call.arguments.get("map") else "read"
    files = _found_files(last)
    if len(files) == 1 and call is not None and call.name == "read":
        step = planned("read", verb, f"`{files[0]}`", **{**call.arguments, "path": files[0]})
        return Reply(text=_joined(told, f"That must be it: I will {purposes((step,))}."), steps=(step,))
    offers = _found_offers(last, verb)
    if offers:
        return Reply(text=_joined(told, "Did you mean one of these?", *offers))
    return Reply(text=_joined(told, "What shall I do instead? `list` shows what is here."))


def _has_failed(results: Round) -> bool:
    return any(exchange.result.is_error for exchange in results)


def _missing_names(results: Round) -> tuple[str, ...]:
    """Names of files that could not be read because there is no such file."""
    names = [
        exchange.argument("path").rstrip("/").rsplit("/", 1)[-1]
        for exchange in results
        if exchange.result.is_error
        and exchange.call.name in ("read", "edit")
        and any(
            word in exchange.text.lower()
            for word in ("no such file", "file not found", "does not exist", "enoent")
        )
    ]
    return tuple(dict.fromkeys(name for name in names if name and not set(name) & set("*?[{")))[:3]


def _found_files(results: Round) -> list[str]:
    paths: list[str] = []
    for exchange in results:
        if exchange.call.name == "find" and not exchange.result.is_error:
            folder = exchange.argument("path").rstrip("/")
            paths += [f"{folder}/{name}" if folder else name for name in names_in(exchange)]
    return [path for path in paths if not path.endswith("/")]


def _found_offers(results: Round, verb: str = "read") -> list[str]:
    """Files that `find` found, to be read or mapped by their number."""
    files = _found_files(results)[:5]
    if not files:
        return []
    lines = "\n".join(f"{number}. `{verb} {_quoted(path)}`" for number, path in enumerate(files, 1))
    return [f"{lines}\n\nSay a number, or `all`."]


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path or "," in path else path


def _told(situation: Situation) -> str:
    """What came back since the last answer, and what came beside it."""
    notes = [_note(note) for note in situation.notes]
    return _joined(tell(situation.fresh) if situation.fresh else "", *notes)


def _note(note: CustomMessage) -> str:
    if note.custom_type == "file-map":
        return "A map of the whole file came with it; it stands in the transcript."
    if note.custom_type == CELL:
        return ""  # Its person has seen what it showed.
    if note.custom_type in _ABOUT_TODOS:
        return _ABOUT_TODOS[note.custom_type]
    ended = _ENDED.match(text := text_of(note.content))
    if ended is None:
        return f"I was also given a note ({note.custom_type})."
    output = text[ended.end() :].strip("\n")
    said = f"`{first_line(ended['title'], 80)}` has ended in the background: {ended['state']}."
    return f"{said}\n\n{fenced_end(output)}" if output else said


def _images(situation: Situation) -> str:
    if not situation.image_count:
        return ""
    return "I cannot see images; the ones you attached are in the session for a model that can."


def _talk(wish: Talking) -> str:
    match wish:
        case Help():
            return greeting() if wish.is_greeting else help_text()
        case Incomplete():
            return wish.question
        case Remark():
            return wish.answer
        case Unclear():
            return _unclear(wish.text)
        case Demo():
            return {"markdown": demos.MARKDOWN, "long": demos.long_text()}.get(wish.kind, "")
        case _:
            assert_never(wish)


def _unclear(text: str) -> str:
    return with_offers(text, first_line(text, 60), FORMS[0].example) if text else _examples()


def _examples() -> str:
    return f"Say something like `{FORMS[0].example}`; `help` lists what I understand."


def _thoughts(todo: PlannedAnswer, steps: tuple[PlannedCall, ...]) -> str:
    if not steps:
        return "Nothing has to be looked up for this."
    count = len(steps)
    together = f" These {count} do not depend on each other, so I ask for them at once." if count > 1 else ""
    later = len(todo.groups) - 1
    after = (
        f" {later} more step{'s' if later > 1 else ''} will follow, if this succeeds." if later > 0 else ""
    )
    return f"The request asks me to {purposes(steps)}.{together}{after}"


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
