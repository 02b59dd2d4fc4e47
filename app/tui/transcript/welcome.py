"""The page before the first prompt: what answers, what it may do, what was loaded, what to try. In offline mode how to
connect a model."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.engine.session import Session
from app.permits.permission_decisions import MODE_WORDS
from app.tui.page_protocols import KeyLabel
from app.values.models import Model
from tools.amounts import pluralized
from widgets.transcript.blocks import NoteBlock

if TYPE_CHECKING:
    from app.assembly.assembled_session import AssembledSession

_TEXT = (
    "The offline guide reads, searches, changes and runs what is in this folder. It is no language model: "
    "/login connects one, as does a key in the environment.\n"
    "\n"
    "Three things to try, by number and enter:"
)
_MAX_FILES_LOOKED_AT = 200
_TIP_COUNT = 3
_TIPS: tuple[tuple[str, str, str], ...] = (
    ("app.files.undo", "Alt+Z", "takes back what the last prompt changed in files"),
    ("app.palette", "Ctrl+K", "finds every command and key by its name"),
    ("", "!ls", "runs a command of yours; the agent reads its output"),
    ("", "@", "names a file, and @file:Name a symbol in it"),
    ("app.review.show", "Alt+G", "opens the changed files for review, hunk by hunk"),
    ("app.plan.toggle", "Alt+O", "plans first: nothing changes until you accept the plan"),
    ("", "enter", "while the agent works sends your text into its work, alt+enter after it"),
    ("tui.altScreen.search", "Ctrl+F", "searches the whole conversation"),
    ("", "/tree", "goes back to any earlier prompt, on a branch of its own"),
    ("", "#", "keeps a note for every later session"),
    ("", "$ 6*7", "runs Python in the agent's kernel"),
    ("", "/context", "shows what fills the context, and drops parts of it"),
    ("", "bayou -c", "goes on with the last session of this folder"),
    ("", "/review", "looks over the changes that are not committed"),
    ("", "/init", "writes AGENTS.md: what every session should know here"),
)
"""The action, its usual key or what is typed, and what it does."""


class WelcomeMessage:
    """The first page of one session, with numbered suggestions in offline mode."""

    def __init__(self, assembled: "AssembledSession", key_label: KeyLabel) -> None:
        self._assembled = assembled
        self._session: Session = assembled.session
        self._key_label = key_label
        self._tries: tuple[tuple[str, str], ...] = ()
        self._rules = 0
        self._counted = ("", 0)
        """The session for which earlier ones were counted, and how many there were."""

    def blocks(self) -> tuple[NoteBlock, ...]:
        """Returns the blocks of the first page; none once there is a conversation."""
        session, model = self._session, self._session.model
        quiet = self._assembled.effective_settings.settings.display.quiet_startup
        if quiet or session.messages or model is None:
            return ()
        return (self._of_guide(),) if model.api == "offline" else (self._of_model(model), self._tips())

    def meant(self, text: str) -> str:
        """Replaces a suggestion's number by its request, while nothing else has been sent."""
        number = text.strip()
        if not (number.isdecimal() and 1 <= int(number) <= len(self._tries)) or self._session.messages:
            return text
        return self._tries[int(number) - 1][0]

    async def count_rules(self, shown: Callable[[], None]) -> None:
        """Counts the rules, which are not read before the first paint."""
        settings = self._assembled.effective_settings.settings.rules
        if not settings.enabled or not self.blocks():
            return
        from app.resources.rules.rule_files import find_rules  # noqa: PLC0415  (after the first paint)

        found = await asyncio.to_thread(
            find_rules,
            self._assembled.prompt.paths,
            is_trusted=self._assembled.project.decision.is_trusted,
            sources=settings.sources,
        )
        self._rules = len(found.rules)
        shown()

    @property
    def _earlier(self) -> int:
        """The number of earlier sessions here; it stays while this session is open."""
        session_id = self._session.state.session_id
        if self._counted[0] != session_id:
            self._counted = (session_id, _count(self._assembled.places.folder))
        return self._counted[1]

    def _of_guide(self) -> NoteBlock:
        self._tries = suggested_requests(self._session.cwd)
        return NoteBlock(
            id="welcome",
            mark="≈",
            title="Welcome to bayou",
            text=_TEXT,
            tries=self._tries,
            hints=self._guide_hints(),
        )

    def _of_model(self, model: Model) -> NoteBlock:
        state = self._session.state
        self._tries = ()
        thinking = f" with {state.thinking} thinking" if model.reasoning and state.thinking != "off" else ""
        mode = "plan" if state.is_planning else state.permission_mode
        does = (
            "nothing changes until you accept a plan"
            if state.is_planning
            else MODE_WORDS[state.permission_mode]
        )
        lines = [f"{model.id} from {model.provider} answers{thinking}."]
        if state.asks_person:
            lines.append(f"Mode {mode}: {does}.")
        return NoteBlock(
            id="welcome",
            mark="≈",
            title="Welcome to bayou",
            text="\n".join(lines),
            hints=tuple((pressed, does) for pressed, does in self._hints() if pressed and does),
        )

    def _hints(self) -> tuple[tuple[str, str], ...]:
        prompt, servers = self._assembled.prompt, self._session.mcp.servers()
        own = prompt.choice.own_skills
        skills = sum(not any(place in one.path.parents for place in own) for one in prompt.skills.skills)
        files = [file.path.name for file in prompt.context_files.files]
        named = f" ({', '.join(dict.fromkeys(files))})" if files else ""
        kept = self._earlier
        return (
            (self._key_label("app.model.select", "Ctrl+L") or "/model", "another model"),
            (self._key_label("app.permissions.cycle", "Alt+M") or "/permissions", "the next mode"),
            ("/context", f"{pluralized(len(files), 'instruction file')}{named}" if files else ""),
            ("/skills", pluralized(skills, "skill") if skills else ""),
            ("/rules", pluralized(self._rules, "rule") if self._rules else ""),
            ("/mcp", pluralized(len(servers), "MCP server") if servers else ""),
            ("/resume", pluralized(kept, "earlier session") + " here" if kept else ""),
        )

    def _tips(self) -> NoteBlock:
        """Returns three tips, other ones for each new session."""
        first = _TIP_COUNT * self._earlier
        chosen = (_TIPS[(first + number) % len(_TIPS)] for number in range(_TIP_COUNT))
        labels = (
            (self._key_label(action, usual) if action else usual, does) for action, usual, does in chosen
        )
        return NoteBlock(
            id="tips",
            mark="·",
            title="Worth knowing",
            text="",
            hints=tuple((pressed, does) for pressed, does in labels if pressed),
        )

    def _guide_hints(self) -> tuple[tuple[str, str], ...]:
        kept = self._earlier
        tree, everything = (
            self._key_label("app.interrupt", "Escape"),
            self._key_label("app.palette", "Ctrl+K"),
        )
        hints = (
            ("/login", "connect a model"),
            ("/resume" if kept else "", pluralized(kept, "earlier session") + " here"),
            (everything, "everything, by name"),
            (f"{tree} {tree}" if tree else "", "the tree of the session"),
        )
        return tuple((pressed, does) for pressed, does in hints if pressed)


def suggested_requests(cwd: Path) -> tuple[tuple[str, str], ...]:
    """Returns three suggested requests that work in this folder."""
    names = _names(cwd)
    readable = next((name for name in names if name.lower().startswith("readme")), names[0] if names else "")
    return (
        (f"read {readable}", "a file") if readable else ("list", "what is in this folder"),
        ("run git status", "a command"),
        ("tour", "bayou, step by step"),
    )


def _count(sessions: Path) -> int:
    try:
        with os.scandir(sessions) as entries:
            return sum(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return 0


def _names(cwd: Path) -> list[str]:
    """Returns the files in this folder and one level below, those of the folder first."""
    here: list[str] = []
    below: list[str] = []
    try:
        for entry in sorted(os.scandir(cwd), key=lambda one: one.name)[:_MAX_FILES_LOOKED_AT]:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_file():
                here.append(entry.name)
            elif len(below) < _MAX_FILES_LOOKED_AT and entry.is_dir(follow_symlinks=False):
                with os.scandir(entry) as inner:
                    below += sorted(f"{entry.name}/{one.name}" for one in inner if one.is_file())
    except OSError:
        pass
    return [name for name in (*here, *below) if not name.rpartition("/")[2].startswith((".", "_"))]
