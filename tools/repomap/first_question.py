"""Where the work may be, told beside the first question of a conversation: only when it is sure enough to be of use."""

import re

from tools.repomap.of_session import known_files
from tools.repomap.ranking import MapQuestion, is_sure, question_of, rank
from tools.repomap.repository import MappedRepository
from tools.repomap.telling import map_told
from tools.workspace import Workspace

TOKENS = 1000
FEWEST_FILES = 200
"""Of code: in a smaller folder a model sees for itself."""
_FEWEST_WORDS = 5
_MENTION = re.compile(r"(?:^|\s)@[\w./\"-]")


def aside_for(workspace: Workspace, prompt: str) -> str | None:
    """Whether the map may be wanted is somebody else's to say. The first time it only has the index made."""
    question = question_of(prompt)
    if len(set(question.words.values())) < _FEWEST_WORDS or _MENTION.search(prompt):
        return None
    repository = workspace.repository()
    if repository is None:
        return None
    repository.look(patience=0.0)
    if not repository.is_whole or not _is_sure_in(repository, question):
        return None
    near = known_files(repository, workspace)
    answer = repository.map_about(prompt, tokens=TOKENS - _HEAD_TOKENS, known=near)
    return f"{_HEAD}\n{map_told(answer, is_question=True)}" if answer.map.files else None


_HEAD = "Where this may be, by the words of the question; look before you rely on it:"
_HEAD_TOKENS = 25


def _is_sure_in(repository: MappedRepository, question: MapQuestion) -> bool:
    with repository.reading() as store:
        if store is None or sum(file.kind == "code" for file in store.files()) <= FEWEST_FILES:
            return False
        return is_sure(store, question, rank(store, question, most=10).places)
