"""The first page, shown before the first prompt: the model, what it may do, recent sessions, tips. In offline mode how
to connect a model."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.session import Session
from app.permits.permission_decisions import PERMISSION_MODE_DESCRIPTIONS
from app.tui.page_protocols import KeyLabel
from app.values.models import Model
from app.values.wire import now_ms
from tools.number_formatting import count_with_noun, format_age
from widgets.row_builder import cells
from widgets.transcript.transcript_blocks import AppNoteBlock, FirstPageRow

if TYPE_CHECKING:
    from app.assembly.assembled_session import AssembledSession
    from app.sessions.index.list_values import SessionSummary

_TAGLINE = "a coding agent that shows its work"
_NO_MODEL_TEXT = "No model is connected yet. Type a number and enter, or click:"
_WORDMARK = (
    "█                                ",
    "█▀▀▀▄  ▄▀▀▀█  █   █  ▄▀▀▀▄  █   █",
    "█▄▄▄▀  ▀▄▄▄█  ▀▄▄▄█  ▀▄▄▄▀  ▀▄▄▄█",
    "≈ ≈ ≈ ≈ ≈ ≈   ▄▄▄▀   ≈ ≈ ≈ ≈ ≈ ≈",
)
_SMALL_WORDMARK = ("≈ ≈ ≈", "b a y o u")
_ONE_ROW_WORDMARK = ("≈ b a y o u ≈",)
_SMALL_ROWS, _MEDIUM_ROWS, _LARGE_ROWS = 14, 20, 34
"""Rows of the terminal from which the page has more than the name, has the large wordmark, and has everything."""
_MAX_FILES_READ_FOR_SUGGESTIONS = 200
_SHOWN_RECENT_SESSIONS = 3
_SHOWN_TIPS = 3
_WELCOME_TIPS: tuple[tuple[str, str, str], ...] = (
    ("app.files.undo", "Alt+Z", "undo the file changes of the last prompt"),
    ("app.palette", "Ctrl+K", "find any command or key by name"),
    ("", "!ls", "run a shell command; the agent reads its output"),
    ("", "@", "mention a file, or a symbol in it with @file:Name"),
    ("app.review.show", "Alt+G", "review the changed files, hunk by hunk"),
    ("app.plan.toggle", "Alt+O", "plan mode: nothing changes until you accept the plan"),
    ("", "enter", "steer the working agent; alt+enter to queue for after the run"),
    ("tui.altScreen.search", "Ctrl+F", "search the whole conversation"),
    ("", "/tree", "go back to an earlier prompt, on a new branch"),
    ("", "#", "save a note for all later sessions"),
    ("", "$ 6*7", "run Python in the agent's kernel"),
    ("", "/context", "show the context usage, and drop large results"),
    ("", "bayou -c", "continue the last session of this folder"),
    ("", "/review", "review the uncommitted changes"),
    ("", "/init", "write AGENTS.md: instructions for every session"),
)
"""The action, its usual key or what is typed, and what it does."""
_DEFAULT_KEYS_IN_FACTS = {"app.model.select": "Ctrl+L", "app.permissions.cycle": "Alt+M"}
_PLAN_MODE_DESCRIPTION = "nothing changes until you accept a plan"


class WelcomePage:
    """The first page of one session: facts, recent sessions and tips; in offline mode suggestions."""

    def __init__(
        self, assembled: "AssembledSession", key_label: KeyLabel, terminal_rows: Callable[[], int]
    ) -> None:
        self._assembled = assembled
        self._session: Session = assembled.session
        self._key_label = key_label
        self._terminal_rows = terminal_rows
        self._choices: tuple[FirstPageRow, ...] = ()
        """What the numbers on the page choose."""
        self._rules = 0
        self._recent: tuple[SessionSummary, ...] = ()
        self._session_count_cache = ("", 0)
        """The session for which earlier ones were counted, and how many there were."""

    def welcome_blocks(self) -> tuple[AppNoteBlock, ...]:
        """Returns the blocks of the first page; none once there is a conversation."""
        session, model = self._session, self._session.model
        quiet = self._assembled.effective_settings.settings.display.quiet_startup
        if quiet or session.messages or model is None:
            return ()
        if model.api == "offline":
            return (self._guide_block(),)
        blocks = [self._facts_block(model)]
        rows = self._terminal_rows()
        self._choices = tuple(map(_session_row, self._recent, count(1)))
        if self._choices and rows >= _MEDIUM_ROWS:
            blocks.append(self._recent_block())
        if rows >= _LARGE_ROWS or (rows >= _MEDIUM_ROWS and not self._choices):
            blocks.append(self._tips_block())
        labels = max(cells(row.label) for block in blocks for row in block.rows)
        return tuple(msgspec.structs.replace(block, label_cells=labels) for block in blocks)

    def expand_suggestion(self, text: str) -> str:
        """Replaces a number typed on the first page by the request or command of the row with that number, while the
        session has no messages; later the one that continues the guide's tour by the title of its next page."""
        number = text.strip()
        if self._session.messages:
            return self._expand_tour_request(text) if self._is_guide else text
        if not (number.isdecimal() and 1 <= int(number) <= len(self._choices)):
            return text
        return self._choices[int(number) - 1].sends

    def _expand_tour_request(self, text: str) -> str:
        from app.providers.offline.answers import TOUR_CONTINUE_KEY, next_tour_request  # noqa: PLC0415  (with the guide only)

        return (
            next_tour_request(self._session.messages, first=text)
            if text.strip() == TOUR_CONTINUE_KEY
            else text
        )

    @property
    def _is_guide(self) -> bool:
        model = self._session.model
        return model is not None and model.api == "offline"

    async def load(self, shown: Callable[[], None]) -> None:
        """Loads what the first page does not wait for: the number of rules, and the sessions that were used last."""
        if not self.welcome_blocks():
            return
        from app.sessions.session_library import newest_sessions  # noqa: PLC0415  (after the first paint)

        places, file = self._assembled.session_paths, self._session.state.file
        newest = await asyncio.to_thread(
            newest_sessions, places.sessions_root, places.cwd, most=_SHOWN_RECENT_SESSIONS + 1
        )
        used = [one for one in newest if one.path != file and one.first_prompt]
        self._recent = tuple(used[:_SHOWN_RECENT_SESSIONS])
        self._rules = await self._count_rules()
        shown()

    async def _count_rules(self) -> int:
        settings = self._assembled.effective_settings.settings.rules
        if not settings.enabled:
            return 0
        from app.resources.rules.rule_files import find_agent_rules  # noqa: PLC0415  (after the first paint)

        found = await asyncio.to_thread(
            find_agent_rules,
            self._assembled.prompt.paths,
            is_trusted=self._assembled.project_trust.decision.is_trusted,
            sources=settings.sources,
        )
        return len(found.rules)

    @property
    def _earlier_session_count(self) -> int:
        """The number of earlier sessions in this folder, counted once for the open session."""
        session_id = self._session.state.session_id
        if self._session_count_cache[0] != session_id:
            self._session_count_cache = (
                session_id,
                _count_session_files(self._assembled.session_paths.project_folder),
            )
        return self._session_count_cache[1]

    @property
    def _art(self) -> tuple[str, ...]:
        rows = self._terminal_rows()
        return (
            _WORDMARK
            if rows >= _MEDIUM_ROWS
            else _SMALL_WORDMARK
            if rows >= _SMALL_ROWS
            else _ONE_ROW_WORDMARK
        )

    @property
    def _tagline(self) -> str:
        return _TAGLINE if self._terminal_rows() >= _SMALL_ROWS else ""

    def _guide_block(self) -> AppNoteBlock:
        self._choices = tuple(
            FirstPageRow(kind="choice", label=str(number), text=request, detail=shows, sends=request)
            for number, (request, shows) in enumerate(suggested_first_requests(self._session.cwd), 1)
        )
        rows, tips = self._terminal_rows(), self._guide_tips()
        is_small = rows < _SMALL_ROWS
        return AppNoteBlock(
            id="welcome",
            art=self._art,
            tagline=self._tagline,
            is_centred=True,
            text="" if is_small else _NO_MODEL_TEXT,
            rows=(*self._choices, *(tips if rows >= _LARGE_ROWS else tips[: 1 if is_small else 2])),
        )

    def _facts_block(self, model: Model) -> AppNoteBlock:
        return AppNoteBlock(
            id="welcome",
            art=self._art,
            tagline=self._tagline,
            is_centred=True,
            text="",
            rows=tuple(row for row in self._facts(model) if row.text),
        )

    def _facts(self, model: Model) -> Iterator[FirstPageRow]:
        state, prompt = self._session.state, self._assembled.prompt
        thinking = f", {state.thinking} thinking" if model.reasoning and state.thinking != "off" else ""
        yield self._fact("Model", f"{model.provider}/{model.id}{thinking}", "app.model.select", "/model")
        if state.can_ask_person:
            mode = "plan" if state.is_planning else state.permission_mode
            does = (
                _PLAN_MODE_DESCRIPTION
                if state.is_planning
                else PERMISSION_MODE_DESCRIPTIONS[state.permission_mode]
            )
            yield self._fact("Mode", f"{mode}: {does}", "app.permissions.cycle", "/permissions")
        own = prompt.choice.builtin_skill_folders
        skills = sum(not any(place in one.path.parents for place in own) for one in prompt.skills.skills)
        servers = self._session.mcp.server_views()
        loaded = (
            *dict.fromkeys(file.path.name for file in prompt.context_files.files),
            count_with_noun(skills, "skill") if skills else "",
            count_with_noun(self._rules, "rule") if self._rules else "",
            count_with_noun(len(servers), "MCP server") if servers else "",
        )
        text = ", ".join(filter(None, loaded))
        yield FirstPageRow(label="Loaded", text=text, detail="/context", sends="/context")

    def _fact(self, label: str, text: str, action: str, command: str) -> FirstPageRow:
        """Returns a row of the first page with a fact and the key that changes it, or the command if there is no
        key."""
        key = self._key_label(action, _DEFAULT_KEYS_IN_FACTS[action])
        return FirstPageRow(
            label=label, text=text, detail=key or command, action=action if key else "", sends=command
        )

    def _recent_block(self) -> AppNoteBlock:
        every = FirstPageRow(
            kind="tip", label="/resume", text=f"all {self._earlier_session_count}", sends="/resume"
        )
        more = (every,) if self._earlier_session_count > len(self._choices) else ()
        return AppNoteBlock(
            id="recent", title="Recent sessions", is_centred=True, text="", rows=(*self._choices, *more)
        )

    def _tips_block(self) -> AppNoteBlock:
        """Returns the block of the first page with three tips, other ones for each new session."""
        first = _SHOWN_TIPS * self._earlier_session_count
        chosen = (_WELCOME_TIPS[(first + number) % len(_WELCOME_TIPS)] for number in range(_SHOWN_TIPS))
        return AppNoteBlock(id="tips", title="Tips", is_centred=True, text="", rows=self._tip_rows(chosen))

    def _tip_rows(self, tips: Iterable[tuple[str, str, str]]) -> tuple[FirstPageRow, ...]:
        """Returns the rows of tips whose action has a key, or which need none; those with a key or a command run it
        when clicked."""
        labels = (
            (self._key_label(action, usual) if action else usual, does, action)
            for action, usual, does in tips
        )
        return tuple(
            FirstPageRow(
                kind="tip",
                label=label,
                text=does,
                action=action,
                sends=label if label.startswith("/") else "",
            )
            for label, does, action in labels
            if label
        )

    def _guide_tips(self) -> tuple[FirstPageRow, ...]:
        kept = self._earlier_session_count
        tree = self._key_label("app.interrupt", "Escape")
        tips = [("", "/login", "connect a model"), ("app.palette", "Ctrl+K", "all commands and actions")]
        if kept:
            tips.insert(1, ("", "/resume", count_with_noun(kept, "earlier session") + " here"))
        if tree:
            tips.append(("", f"{tree} {tree}", "session tree"))
        return self._tip_rows(tips)


def _session_row(session: "SessionSummary", number: int) -> FirstPageRow:
    return FirstPageRow(
        kind="choice",
        label=str(number),
        text=session.title,
        detail=format_age((now_ms() - session.modified) / 1000),
        sends=f"/resume {session.id}",
    )


def suggested_first_requests(cwd: Path) -> tuple[tuple[str, str], ...]:
    """Returns three suggested requests that work in this folder."""
    names = _file_names(cwd)
    readable = next((name for name in names if name.lower().startswith("readme")), names[0] if names else "")
    return (
        (f"read {readable}", "a file") if readable else ("list", "what is in this folder"),
        ("run git status", "a command"),
        ("tour", "a tour of bayou"),
    )


def _count_session_files(sessions: Path) -> int:
    try:
        with os.scandir(sessions) as entries:
            return sum(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return 0


def _file_names(cwd: Path) -> list[str]:
    """Returns the names of files in the working folder, then of those one level below."""
    here: list[str] = []
    below: list[str] = []
    try:
        for entry in sorted(os.scandir(cwd), key=lambda one: one.name)[:_MAX_FILES_READ_FOR_SUGGESTIONS]:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_file():
                here.append(entry.name)
            elif len(below) < _MAX_FILES_READ_FOR_SUGGESTIONS and entry.is_dir(follow_symlinks=False):
                with os.scandir(entry) as inner:
                    below += sorted(f"{entry.name}/{one.name}" for one in inner if one.is_file())
    except OSError:
        pass
    return [name for name in (*here, *below) if not name.rpartition("/")[2].startswith((".", "_"))]
