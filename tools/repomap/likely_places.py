"""Adds likely places in the repository to the first question of a conversation, if the ranking is confident enough."""

import re

from tools.repomap.file_ranking import (
    RepositoryMapQuestion,
    is_ranking_confident,
    parse_repository_map_question,
    rank_files,
)
from tools.repomap.map_answer_texts import format_map_answer
from tools.repomap.mapped_repository import MappedRepository
from tools.repomap.session_map import list_known_files
from tools.session_workspace import SessionWorkspace

MAX_TOKENS_ADDED_TO_FIRST_QUESTION = 1000
MIN_FILES_FOR_LIKELY_PLACES = 200
"""The minimum number of code files of a repository; in a smaller one the model finds its way without a map."""
_MIN_WORDS_FOR_LIKELY_PLACES = 5
_FILE_MENTION_PATTERN = re.compile(r"(?:^|\s)@[\w./\"-]")


def find_likely_files_for_question(workspace: SessionWorkspace, prompt: str) -> str | None:
    """Returns the text on likely places that is added to the first question; None without a confident ranking. The
    first call starts the index. The caller decides whether the text is wanted."""
    question = parse_repository_map_question(prompt)
    if len(set(question.word_parts.values())) < _MIN_WORDS_FOR_LIKELY_PLACES or _FILE_MENTION_PATTERN.search(
        prompt
    ):
        return None
    repository = workspace.repository()
    if repository is None:
        return None
    repository.index_changed_files(patience=0.0)
    if not repository.is_index_complete or not _is_ranking_confident(repository, question):
        return None
    near = list_known_files(repository, workspace)
    answer = repository.map_files_for_task(
        prompt, tokens=MAX_TOKENS_ADDED_TO_FIRST_QUESTION - _LIKELY_PLACES_HEADING_TOKENS, known=near
    )
    return (
        f"{_LIKELY_PLACES_HEADING}\n{format_map_answer(answer, is_question=True)}"
        if answer.ranked_map.files
        else None
    )


_LIKELY_PLACES_HEADING = "Where this may be, by the words of the question; look before you rely on it:"
_LIKELY_PLACES_HEADING_TOKENS = 25


def _is_ranking_confident(repository: MappedRepository, question: RepositoryMapQuestion) -> bool:
    with repository.open_index() as store:
        if (
            store is None
            or sum(file.kind == "code" for file in store.indexed_files()) <= MIN_FILES_FOR_LIKELY_PLACES
        ):
            return False
        return is_ranking_confident(store, question, rank_files(store, question, most=10).ranked_files)
