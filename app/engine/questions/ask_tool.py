"""The `ask` tool, with which the model asks the user one to four questions with choices."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import msgspec

from app.engine.questions.form_questions import FormReply, UserFormQuestions
from app.values.forms import FormChoice, FormField, UserForm
from tools.argument_schema import make_arguments_schema
from tools.text_sanitizing import escape_controls, one_line, remove_invisible_chars, strip_markdown_marks
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, TextBlock, ToolResult, text_result

MAX_QUESTIONS, MIN_CHOICES, MAX_CHOICES = 4, 2, 12
_MAX_QUESTION_CHARS, _MAX_HEADER_CHARS, _MAX_LABEL_CHARS, _MAX_DETAIL_CHARS = 2_000, 40, 100, 300
_ASK_WITHOUT_USER_TEXT = (
    "The user cannot be asked in this run. Take the choice that is easiest to undo and say in your answer "
    "what you "
    "assumed; if that would be a guess that matters, end with the questions as your answer."
)
_OPTION_LABEL_KEYS = ("label", "title", "text", "value", "name")


class AskedChoice(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    description: Annotated[str | None, msgspec.Meta(description="What it means or costs, in a line")] = None


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    header: Annotated[str | None, msgspec.Meta(description="One or two words, for lists")] = None
    options: Annotated[
        tuple[AskedChoice, ...] | None,
        msgspec.Meta(description="2 to 12 different choices; without them the answer is free text"),
    ] = None
    multiple: Annotated[bool, msgspec.Meta(description="Several choices may be taken")] = False


class AskArguments(msgspec.Struct, frozen=True, kw_only=True):
    questions: Annotated[tuple[AskedQuestion, ...], msgspec.Meta(description="1 to 4")]


def ask_tool(forms: UserFormQuestions) -> Tool:
    async def run(arguments: AskArguments, context: ToolContext) -> ToolResult:
        form = make_question_form(arguments)
        if not forms.can_ask:
            raise ToolError(_ASK_WITHOUT_USER_TEXT)
        reply = await forms.ask_form(form)
        answers = _answers_in_order(form, reply)
        return msgspec.structs.replace(
            text_result(_answer_text(arguments, reply, answers), details={"answers": answers}),
            terminate=reply.action == "cancel",
        )

    return Tool(
        name="ask",
        description=(
            "Ask the user what only they can decide, before work that depends on it: up to four questions "
            "at once, each with choices. They can always type another answer, so offer no choice such as "
            "Other. Do not ask what you can find out, nor whether to continue."
        ),
        schema=make_arguments_schema(AskArguments),
        arguments=AskArguments,
        effects=declare_no_effects,
        kind="think",
        is_for_helpers=False,
        prepare=_repair_arguments,
        run=run,
        show=_ask_card,
        snippet="Ask the person to decide",
        mode="sequential",
        is_read_only=True,
    )


def make_question_form(arguments: AskArguments) -> UserForm:
    """Makes the form that shows the model's questions. Raises `ToolError` that says which question is wrong."""
    count = len(arguments.questions)
    if not 1 <= count <= MAX_QUESTIONS:
        raise ToolError(
            f"{count} questions: ask 1 to {MAX_QUESTIONS} at once, the most important ones first."
        )
    fields = [_make_field(number, question) for number, question in enumerate(arguments.questions, 1)]
    message = "" if count == 1 else "\n".join(_numbered_questions(arguments.questions))
    return UserForm(message=fields[0].description if count == 1 else message, fields=tuple(fields))


def _numbered_questions(questions: Sequence[AskedQuestion]) -> Iterator[str]:
    for number, question in enumerate(questions, 1):
        yield f"{number}. {_display_text(question.question)}"


def _make_field(number: int, question: AskedQuestion) -> FormField:
    text, header = _display_text(question.question), one_line(_display_text(question.header or ""))
    where = f"Question {number}"
    if not text:
        raise ToolError(f"{where} has no text.")
    if len(text) > _MAX_QUESTION_CHARS:
        raise ToolError(
            f"{where} is longer than {_MAX_QUESTION_CHARS:,} characters. Put explanations into your text."
        )
    choices = _make_choices(where, question.options)
    if question.multiple and not choices:
        raise ToolError(
            f'{where} has "multiple" but no choices: give {MIN_CHOICES} to {MAX_CHOICES} options.'
        )
    return FormField(
        name=f"q{number}",
        title=header[:_MAX_HEADER_CHARS] or one_line(text)[:_MAX_LABEL_CHARS],
        kind="several" if question.multiple else "choice" if choices else "text",
        description=text,
        choices=choices,
        takes_text=bool(choices),
    )


def _make_choices(where: str, options: Sequence[AskedChoice] | None) -> tuple[FormChoice, ...]:
    if options is None:
        return ()
    if not MIN_CHOICES <= len(options) <= MAX_CHOICES:
        raise ToolError(
            f"{where} has {len(options)} options: give {MIN_CHOICES} to {MAX_CHOICES}, or leave options "
            f"out for an "
            "answer in free text."
        )
    labels = [one_line(_display_text(option.label)) for option in options]
    for at, label in enumerate(labels):
        if not label:
            raise ToolError(f"{where}: option {at + 1} has no label.")
        if len(label) > _MAX_LABEL_CHARS:
            raise ToolError(
                f"{where}: the label of option {at + 1} is longer than {_MAX_LABEL_CHARS} characters. Put "
                f"details into "
                "its description."
            )
        if label.lower() in (other.lower() for other in labels[:at]):
            raise ToolError(f"{where} has the option “{label}” twice. Give each a different label.")
    return tuple(
        FormChoice(
            value=label,
            title=label,
            detail=one_line(_display_text(option.description or ""))[:_MAX_DETAIL_CHARS],
        )
        for label, option in zip(labels, options, strict=True)
    )


def _display_text(text: str) -> str:
    """Returns a text without characters that could deceive its reader."""
    return remove_invisible_chars(escape_controls(text)).strip()


def _answers_in_order(form: UserForm, reply: FormReply) -> list[Any]:
    """Returns the answer to each question of the form: a text, a list of texts, or None."""
    return [reply.content.get(field.name) for field in form.fields] if reply.action == "accept" else []


def _answer_text(arguments: AskArguments, reply: FormReply, answers: Sequence[Any]) -> str:
    if reply.action == "decline" and reply.missing_reason:
        advice = "Ask only questions with choices, one choice each, or ask in your answer and end with it."
        return f"{reply.missing_reason} {advice}"
    if reply.action == "decline":
        return "The user declined to answer. Do not ask again; take the choice that is easiest to undo and say so."
    if reply.action == "cancel":
        return (
            reply.missing_reason
            or "The user closed the questions without answering. Assume no answer; they will write to you."
        )
    lines: list[str] = []
    for question, answer in zip(arguments.questions, answers, strict=True):
        lines.append(f"{_display_text(question.question)}\n→ {_answer_as_text(answer) or '(not answered)'}")
    return "\n".join(lines)


def _answer_as_text(answer: Any) -> str:
    return "; ".join(map(str, cast("list[Any]", answer))) if isinstance(answer, list) else str(answer or "")


def _repair_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Repairs arguments of the `ask` tool: a single question without the list, lists as JSON text, options as
    texts, and argument names of other agents."""
    mended = dict(arguments)
    if "questions" not in mended and "question" in mended:
        mended = {"questions": [mended]}
    questions = _parse_json_text(mended.get("questions"))
    if isinstance(questions, list):
        mended["questions"] = [_repair_question(one) for one in cast("list[Any]", questions)]
    return mended


def _repair_question(question: Any) -> Any:
    if isinstance(question, str):
        return {"question": question}
    if not isinstance(question, dict):
        return question
    mended = dict(cast("dict[str, Any]", question))
    for other, name in (("multiSelect", "multiple"), ("multi", "multiple"), ("choices", "options")):
        if other in mended:
            mended.setdefault(name, mended.pop(other))
    mended.pop("id", None)
    options = _parse_json_text(mended.get("options"))
    if isinstance(options, list):
        mended["options"] = [_repair_option(one) for one in cast("list[Any]", options)]
    return mended


def _repair_option(option: Any) -> Any:
    if isinstance(option, str | int | float):
        return {"label": str(option)}
    if not isinstance(option, dict):
        return option
    given = cast("dict[str, Any]", option)
    label = next((given[key] for key in _OPTION_LABEL_KEYS if isinstance(given.get(key), str)), None)
    kept = {"description": given["description"]} if isinstance(given.get("description"), str) else {}
    return {"label": label, **kept} if label is not None else given


def _parse_json_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _ask_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    listed = arguments.get("questions")
    questions: list[Any] = cast("list[Any]", listed) if isinstance(listed, list) else []
    names = [_question_title(cast("dict[str, Any]", one)) for one in questions if isinstance(one, dict)]
    answers: list[Any] = (result.details or {}).get("answers", []) if result is not None else []
    if len(names) == 1 and not answers and isinstance(questions[0].get("question"), str):
        names = [questions[0]["question"]]
    if answers and len(answers) == len(names):
        subject = " · ".join(
            f"{name} → {_answer_as_text(answer) or '–'}" for name, answer in zip(names, answers, strict=True)
        )
    else:
        subject = " · ".join(names)
    blocks = (TextBlock(text=result.text),) if result and result.text else ()
    return Card(
        title="ask", subject=one_line(strip_markdown_marks(subject))[:_MAX_QUESTION_CHARS], blocks=blocks
    )


def _question_title(question: Mapping[str, Any]) -> str:
    return str(question.get("header") or question.get("question") or "")
