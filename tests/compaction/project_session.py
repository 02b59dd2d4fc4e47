"""A session assembled from files in a folder: settings, context files, skills, extensions."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.compaction.touched_files import FileLists, touched_files
from app.engine.core.conversation import join_prompt_sections
from app.engine.core.toolbox import Toolbox
from app.extensions.headless_ui import HeadlessUi
from app.providers.model_stream import RequestContext
from app.providers.scripted import QueuedResponse, ScriptedModel
from app.resources.paths import BayouPaths
from app.values.content import ToolCall
from app.values.entries import Entry
from tests.support.sessions import parts_of
from tools.session_workspace import SessionWorkspace
from tools.tool_registry import builtin_tools

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


TOOLBOX = Toolbox(lambda toolbox: builtin_tools(), SessionWorkspace(Path("/project")))


def writes(path: str, call_id: str = "1") -> ToolCall:
    return ToolCall(id=call_id, name="write", arguments={"path": path, "content": ""})


def files_in(entries: Sequence[Entry], carried: Any = None) -> FileLists:
    """As a session with the usual tools lists them."""
    return touched_files(entries, TOOLBOX.files_of_call, carried=carried)


class ProjectSession:
    """A session in `home/project`, with the requests to its model."""

    def __init__(
        self, home: Path, responses: Iterable[QueuedResponse] = (), *, window: int = 200_000
    ) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.paths = BayouPaths.from_env({"HOME": str(home)}, self.project)
        self.script = ScriptedModel(responses, context_window=window)
        self.assembled: AssembledSession

    def write(self, name: str, text: str) -> Path:
        """A file of the project, or with `~/` of the person."""
        path = self.home / name[2:] if name.startswith("~/") else self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def settings(self, values: Mapping[str, Any]) -> None:
        path = self.paths.agent_dir / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def example(self, name: str) -> None:
        folder = self.paths.agent_dir / "extensions"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / f"{name}.py", folder)

    async def open(self, **options: Any) -> "ProjectSession":
        chosen = CommandLineOptions(**{"approve": True, **options})
        self.assembled = assemble_session(chosen, self.paths, {})
        session = self.session
        self.assembled.model_choice.set_model(self.script.register(self.assembled.registry))
        self.extended = await connect_extensions(
            self.assembled,
            chosen,
            self.paths,
            mode="print",
            ui=HeadlessUi(session.events.publish_now),
            shutdown=lambda: None,
        )
        return self

    @property
    def session(self):
        return self.assembled.session

    @property
    def asked(self) -> list[RequestContext]:
        return self.script.received_contexts

    async def prompt(self, text: str) -> None:
        await self.session.prompt(text)
        await self.session.wait_until_idle()
        await self.session.events.wait_until_delivered()

    def prompt_now(self) -> str:
        """The system prompt as it was declared to the model."""
        return join_prompt_sections(parts_of(self.session).core.conversation.declared_prompt.sections)
