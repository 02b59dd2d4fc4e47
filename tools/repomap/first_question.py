"""Adds likely places in the repository to the first question of a conversation, if the ranking is confident enough."""

import re

from tools.repomap.answer_texts import format_map_answer
from tools.repomap.ranking import MapQuestion, is_ranking_confident, parse_question, rank_files
from tools.repomap.repository import MappedRepository
from tools.repomap.session_map import list_known_files
from tools.workspace import Workspace

MAX_LIKELY_PLACES_TOKENS = 1000
MIN_REPOSITORY_FILES = 200
"""The minimum number of code files of a repository; in a smaller one the model finds its way without a map."""
_MIN_QUESTION_WORDS = 5
_FILE_MENTION_PATTERN = re.compile(r"(?:^|\s)@[\w./\"-]")


def find_likely_places(workspace: Workspace, prompt: str) -> str | None:
    """Returns the text on likely places that is added to the first question; None without a confident ranking. The
    first call starts the index. The caller decides whether the text is wanted."""
    question = parse_question(prompt)
    if len(set(question.word_parts.values())) < _MIN_QUESTION_WORDS or _FILE_MENTION_PATTERN.search(prompt):
        return None
    repository = workspace.repository()
    if repository is None:
        return None
    repository.index_changes(patience=0.0)
    if not repository.is_index_complete or not _is_ranking_confident(repository, question):
        return None
    near = list_known_files(repository, workspace)
    answer = repository.map_for_task(
        prompt, tokens=MAX_LIKELY_PLACES_TOKENS - _LIKELY_PLACES_HEADING_TOKENS, known=near
    )
    return (
        f"{_LIKELY_PLACES_HEADING}\n{format_map_answer(answer, is_question=True)}"
        if answer.ranked_map.files
        else None
    )


_LIKELY_PLACES_HEADING = "Where this may be, by the words of the question; look before you rely on it:"
_LIKELY_PLACES_HEADING_TOKENS = 25


def _is_ranking_confident(repository: MappedRepository, question: MapQuestion) -> bool:
    with repository.open_index() as store:
        if (
            store is None
            or sum(file.kind == "code" for file in store.indexed_files()) <= MIN_REPOSITORY_FILES
        ):
            return False
        return is_ranking_confident(store, question, rank_files(store, question, most=10).ranked_files)
