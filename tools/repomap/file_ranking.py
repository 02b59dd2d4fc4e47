"""Ranks the files and symbols that a question is likely about: BM25 over path, symbols and text, with few further
signals.

Each signal has a weight constant; a signal stays only while it improves every question set. `python -m bench
repository-maps` measures them. Nothing in a repository changes the weights."""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tools.filemap.file_map import is_one_line_member
from tools.repomap.index.file_kinds import (
    RANKING_WEIGHT_BY_FILE_KIND,
    classify_repository_file,
    is_question_about_tests,
)
from tools.repomap.index.folder_listing import is_path_below
from tools.repomap.index.outline_packing import StoredOutline
from tools.repomap.index.repository_index import IndexedFile, RepositoryIndex
from tools.repomap.index.word_parts import (
    count_word_emphasis,
    count_word_parts,
    find_capitalised_words,
    find_code_names,
    find_question_words,
    split_into_word_parts,
)

COMMIT_HISTORY_RANKING_WEIGHT = 0.8
"""The weight of files that were touched by earlier commits whose messages contain the question's words; recent
commits count more."""
DEFINED_NAME_RANKING_WEIGHT = 0.25
"""The weight of files that define a name in the question; a name with fewer definitions counts more."""
FILE_NAME_RANKING_WEIGHT = 0.25
"""The weight of words in the file's name, in addition to words in its path."""
SHARED_NAMES_RANKING_WEIGHT = 0.35
CHANGED_TOGETHER_RANKING_WEIGHT = 0.5
"""The weight of files that commits changed together with files that the conversation has read or changed.
`SHARED_NAMES_RANKING_WEIGHT` is that of files that share rare names with these."""
NEAR_BEST_FILE_RANKING_WEIGHT = 0.2
"""The weight by which files that changed together with the three best files are raised, up to a place below these."""
SAME_PACKAGE_RANKING_FACTOR = 1.5
"""The factor for files in the same packages as those of the conversation, in a repository with several packages."""
SYMBOL_TEXT_RANKING_WEIGHT = 0.5
"""The weight of a symbol in whose lines words of the question occur."""
MIN_SCORE_RATIO_OF_CONFIDENT_RANKING = 2.0
"""The minimum ratio of the first file's score to the tenth's for a confident ranking, if no name in the question
identifies the file."""
RANKING_SCORE_OF_NAMED_PATH = 10.0
"""The score of a file whose path is in the question, higher than all others; with a line, as in a stack trace, it
is higher still."""

_PACKAGE_MANIFEST_NAMES = (
    "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
    "build.gradle.kts", "composer.json", "Gemfile", "mix.exs", "pubspec.yaml", "Package.swift", "CMakeLists.txt",
)  # fmt: skip
_MAX_RANKED_FILES = 400
_MAX_WORD_PARTS_OF_QUESTION = 1000
_MAX_FULL_TEXT_SEARCH_TERMS = 48
"""The maximum number of words of a question that are searched for: the rarest ones, which describe its subject."""
_MAX_FILES_OF_RARE_TERM = 3
"""The number of files up to which a word counts as rare and is also searched for as a prefix."""
_MAX_DEFINING_FILES = 20
_MAX_FILES_OF_RARE_DEFINITION = 4
_MAX_FILES_OF_SAME_NAME = 3
_MAX_REASON_WORDS = 5
_MAX_QUESTION_PATHS = 50
_MAX_MATCHED_COMMITS = 40
_MAX_COMMITS_PER_FILE = 200
_COMMIT_MESSAGE_HALF_LIFE_COMMITS = 300
_CHANGED_TOGETHER_HALF_LIFE_COMMITS = 1000
"""The number of later commits after which a common change of files counts half; `_COMMIT_MESSAGE_HALF_LIFE_COMMITS` is
that number for a commit message."""
_STACK_TRACE_LINE_PATTERN = re.compile(
    r"""File\ "(?P<python>[^"\n]+)",\ line\ (?P<python_line>\d+)
    |(?P<path>[\w@+~./\\-]+\.[A-Za-z]\w{0,7}):(?P<line>\d+)(?::\d+)?""",
    re.VERBOSE,
)
_PATH_IN_TEXT_PATTERN = re.compile(r"(?<![\w/])[\w@+~.-]*(?:/[\w@+~.-]+)+|\b[\w-]+\.[a-z]\w{0,4}\b")


class RepositoryMapQuestion(msgspec.Struct, frozen=True):
    """A question to the repository map, split into words, names and paths."""

    text: str
    word_parts: Mapping[str, str]
    """The meaningful word parts of the question, each with its original word."""
    word_emphasis: Mapping[str, int]
    """How much each word part is emphasised in the question, as a count."""
    code_names: tuple[str, ...]
    """The words of the question that look like names in code."""
    named_paths: tuple[tuple[str, int], ...]
    """The paths in the question as written, with their lines as in stack traces; 0 without a line."""


class RankedFile(msgspec.Struct, frozen=True):
    """A file that a question may mean, with its score."""

    file: IndexedFile
    score: float
    lines: frozenset[int] = frozenset()
    """The lines of the file that the question names."""


class FileRanking(msgspec.Struct, frozen=True):
    ranked_files: tuple[RankedFile, ...]
    rarities: Mapping[str, float]
    """The weight of each word part of the question, by its rarity in the repository."""
    has_only_nearby_files: bool
    """Whether no file contains the question's words, so that the ranked files are only those near the
    conversation's files."""
    omitted_files: tuple[IndexedFile, ...] = ()
    """Files named in the question of which only the path is indexed."""


def parse_repository_map_question(text: str) -> RepositoryMapQuestion:
    paths = [
        (match["python"] or match["path"], int(match["python_line"] or match["line"]))
        for match in _STACK_TRACE_LINE_PATTERN.finditer(text)
    ]
    return RepositoryMapQuestion(
        text=text,
        word_parts=dict(list(find_question_words(text).items())[:_MAX_WORD_PARTS_OF_QUESTION]),
        word_emphasis=count_word_emphasis(text),
        code_names=tuple(find_code_names(text)[:_MAX_WORD_PARTS_OF_QUESTION]),
        named_paths=(
            *paths[: 4 * _MAX_QUESTION_PATHS],
            *((path, 0) for path in _PATH_IN_TEXT_PATTERN.findall(text)[:_MAX_QUESTION_PATHS]),
        ),
    )


def rank_files(
    store: RepositoryIndex,
    question: RepositoryMapQuestion,
    *,
    below: str = "",
    known: Sequence[str] = (),
    most: int = 60,
    read: Callable[[str], str] = lambda path: "",
) -> FileRanking:
    """Ranks the files that a question may mean, the likeliest first. `below` restricts to a folder; `known` are the
    conversation's files, and `read` returns their content."""
    rarities = _compute_part_rarities(store, question.word_parts)
    expression = _build_full_text_query(question, rarities, store)
    scores = _normalise_scores(dict(store.search_text(expression, _MAX_RANKED_FILES)))
    _add_weighted_scores(scores, COMMIT_HISTORY_RANKING_WEIGHT, _score_by_history(store, expression))
    _add_weighted_scores(scores, DEFINED_NAME_RANKING_WEIGHT, _score_by_definitions(store, question))
    _add_weighted_scores(scores, FILE_NAME_RANKING_WEIGHT, _score_by_file_name(store, scores, rarities))
    asked_for = frozenset(scores)
    lines = _score_by_named_paths(store, question, scores)
    near = [file for path in known[-10:] if (file := store.indexed_file_at_path(path)) is not None]
    _add_weighted_scores(scores, CHANGED_TOGETHER_RANKING_WEIGHT, score_by_common_changes(store, near))
    _add_weighted_scores(scores, SHARED_NAMES_RANKING_WEIGHT, _score_by_shared_names(store, near, read))
    packages = find_package_folders(store, known)
    about_tests = is_question_about_tests(question.text) or (below and _is_test_folder_name(below))
    places: list[RankedFile] = []
    left_out: list[IndexedFile] = []
    for file in store.indexed_files_by_id(scores):
        if not is_path_below(file.path, below):
            continue
        if file.path_only_reason:
            left_out += [file] * (file.id in lines)
            continue
        is_asked = file.id in lines or (file.kind == "test" and about_tests)
        weight = 1.0 if is_asked else RANKING_WEIGHT_BY_FILE_KIND[file.kind]
        if any(is_path_below(file.path, package) for package in packages):
            weight *= SAME_PACKAGE_RANKING_FACTOR
        places.append(RankedFile(file, scores[file.id] * weight, frozenset(lines.get(file.id, ()))))
    places.sort(key=_ranking_sort_key)
    places = _raise_related_files(store, places)
    is_near_alone = bool(places) and not any(place.file.id in asked_for for place in places[:most])
    return FileRanking(tuple(places[:most]), rarities, is_near_alone, tuple(left_out))


def _ranking_sort_key(place: RankedFile) -> tuple[object, ...]:
    return -place.score, len(place.file.path), place.file.path


def _compute_part_rarities(store: RepositoryIndex, parts: Iterable[str]) -> dict[str, float]:
    total = store.count_files()
    return {part: math.log(1 + total / (1 + store.count_versions_with_word(part))) for part in parts}


def _build_full_text_query(
    question: RepositoryMapQuestion, rarities: Mapping[str, float], store: RepositoryIndex
) -> str:
    """Builds the full-text search for any of the question's words, each as often as emphasised; for many words, the
    rarest."""
    files = {part: store.count_versions_with_word(part) for part in rarities}
    terms: list[str] = []
    for part in sorted(rarities, key=lambda part: (files[part] == 0, files[part]))[
        :_MAX_FULL_TEXT_SEARCH_TERMS
    ]:
        is_beginning = len(part) > 3 and files[part] <= _MAX_FILES_OF_RARE_TERM
        terms += [f'"{part}"' + "*" * is_beginning] * question.word_emphasis[part]
    return " OR ".join(terms)


def _normalise_scores(scores: Mapping[int, float]) -> dict[int, float]:
    highest = max(scores.values(), default=0.0)
    return {id: score / highest for id, score in scores.items()} if highest > 0 else {}


def _add_weighted_scores(scores: dict[int, float], weight: float, found: Mapping[int, float]) -> None:
    for id, score in _normalise_scores(found).items():
        scores[id] = scores.get(id, 0.0) + weight * score


def _score_by_history(store: RepositoryIndex, expression: str) -> dict[int, float]:
    """Scores files by matching commit messages: a commit's score is split among the files that it touched; long ago
    counts less."""
    found: dict[int, float] = {}
    for age, files, score in store.find_earlier_changes(expression, _MAX_MATCHED_COMMITS):
        for id in files:
            found[id] = found.get(id, 0.0) + score / (
                1 + age / _COMMIT_MESSAGE_HALF_LIFE_COMMITS
            ) / math.sqrt(len(files))
    return found


def _score_by_definitions(store: RepositoryIndex, question: RepositoryMapQuestion) -> dict[int, float]:
    found: dict[int, float] = {}
    for name in dict.fromkeys((*question.code_names, *find_capitalised_words(question.text))):
        definers = store.files_defining_name(name)
        if 0 < len(definers) <= _MAX_DEFINING_FILES:
            for id in definers:
                found[id] = found.get(id, 0.0) + 1 / math.sqrt(len(definers))
    return found


def _score_by_file_name(
    store: RepositoryIndex, ids: Iterable[int], rarities: Mapping[str, float]
) -> dict[int, float]:
    return {
        file.id: sum(
            rarities.get(part, 0.0)
            for part in set(split_into_word_parts(_path_without_leading_dots(file.path).partition(".")[0]))
        )
        for file in store.indexed_files_by_id(ids)
    }


def _score_by_named_paths(
    store: RepositoryIndex, question: RepositoryMapQuestion, scores: dict[int, float]
) -> dict[int, set[int]]:
    """Finds the files whose paths a question names; also returns the lines that it names for each."""
    lines: dict[int, set[int]] = {}
    for place, (path, line) in enumerate(question.named_paths):
        path = path.replace("\\", "/").strip("./")
        named = list(store.indexed_files(called=_path_without_leading_dots(path))) if path else []
        longest = max((_count_common_suffix_parts(file.path, path) for file in named), default=0)
        meant = [file for file in named if _count_common_suffix_parts(file.path, path) == longest]
        if len(meant) > _MAX_FILES_OF_SAME_NAME or longest < min(2, path.count("/") + 1):
            continue
        # `CHANGELOG.md` or `py.typed` beside other words is mentioned more often than meant.
        is_beside = (
            not line
            and "/" not in path
            and not question.word_parts.keys() <= set(split_into_word_parts(path))
        )
        for file in meant:
            if is_beside and file.kind != "code" and not file.path_only_reason:
                continue
            bonus = RANKING_SCORE_OF_NAMED_PATH * (2 if line else 1) / (1 + place * 0.02)
            scores[file.id] = max(scores.get(file.id, 0.0), bonus + scores.get(file.id, 0.0) % 1)
            lines.setdefault(file.id, set()).update([line] if line else [])
    return lines


def _path_without_leading_dots(path: str) -> str:
    return path.rpartition("/")[2]


def _count_common_suffix_parts(path: str, other: str) -> int:
    """Counts how many parts (folders and name) two paths share at their end."""
    count = 0
    for one, two in zip(reversed(path.split("/")), reversed(other.split("/")), strict=False):
        if one != two:
            break
        count += 1
    return count


def score_by_common_changes(store: RepositoryIndex, files: Sequence[IndexedFile]) -> dict[int, float]:
    """Scores files by how often commits changed them together with the given files; old commits, and commits with
    many files, count less."""
    found: dict[int, float] = {}
    for file in files:
        for age, touched in store.commits_that_changed(file.path, _MAX_COMMITS_PER_FILE):
            for id in touched:
                if id != file.id:
                    says = (
                        1 / (1 + age / _CHANGED_TOGETHER_HALF_LIFE_COMMITS) / math.log2(max(2, len(touched)))
                    )
                    found[id] = found.get(id, 0.0) + says
    return found


def _score_by_shared_names(
    store: RepositoryIndex, files: Sequence[IndexedFile], read: Callable[[str], str]
) -> dict[int, float]:
    """Scores files that share rare words and names with these files."""
    found: dict[int, float] = {}
    few = max(_MAX_FILES_OF_RARE_WORD, store.count_files() // 200)
    for file in files:
        rarities = {part: store.count_versions_with_word(part) for part in count_word_parts(read(file.path))}
        rare = sorted(
            (part for part in rarities if 1 < rarities[part] <= few), key=lambda part: rarities[part]
        )
        asked = " OR ".join(f'"{part}"' for part in rare[:_MAX_RARE_WORDS_OF_FILE])
        for id, score in store.search_text(asked, _MAX_RANKED_FILES // 4):
            if id != file.id:
                found[id] = found.get(id, 0.0) + score
        outline = store.stored_outline(file.id)
        for symbol in outline.symbols if outline is not None else ():
            definers = store.files_defining_name(symbol.name, _MAX_FILES_OF_RARE_DEFINITION + 1)
            if len(definers) <= _MAX_FILES_OF_RARE_DEFINITION:
                for id in definers - {file.id}:
                    found[id] = found.get(id, 0.0) + 1 / len(definers)
    return found


_MAX_RARE_WORDS_OF_FILE = 60
_MAX_FILES_OF_RARE_WORD = 8


def _raise_related_files(store: RepositoryIndex, places: list[RankedFile]) -> list[RankedFile]:
    first, rest = places[:3], places[3:]
    if not first:
        return places
    near = _normalise_scores(score_by_common_changes(store, [place.file for place in first]))
    weight = NEAR_BEST_FILE_RANKING_WEIGHT * first[0].score
    known = {place.file.id for place in places}
    rest += [
        RankedFile(file, 0.0)
        for file in store.indexed_files_by_id(near.keys() - known)
        if not file.path_only_reason
    ]
    raised = (
        msgspec.structs.replace(
            place,
            score=place.score
            + weight * near.get(place.file.id, 0.0) * RANKING_WEIGHT_BY_FILE_KIND[place.file.kind],
        )
        for place in rest
    )
    return first + sorted(raised, key=_ranking_sort_key)


def rank_paths(paths: Iterable[str], question: RepositoryMapQuestion, most: int) -> list[str]:
    """Ranks files by their names only, before anything else is indexed."""
    wanted = set(question.word_parts)
    # Few of thousands of paths contain any of the words, and stemming changes at most the end of a word.
    begun = tuple({part.removesuffix("y") for part in wanted})
    scored: list[tuple[int, int, str]] = []
    for path in paths:
        if path.isascii():
            lowered = path.lower()
            for word in begun:
                if word in lowered:
                    break
            else:
                continue
        hits = len(wanted.intersection(split_into_word_parts(path)))
        if hits:
            scored.append((-hits, len(path), path))
    return [path for _, _, path in sorted(scored)[:most]]


def score_symbols_for_question(
    outline: StoredOutline,
    question: RepositoryMapQuestion,
    ranking: FileRanking,
    lines: frozenset[int],
    text: str = "",
) -> list[float]:
    """Scores the symbols of a file by how likely a question means them: first those that it names, then by words in
    name, owner, doc and, if `text` is given, lines. 0 means no relation to the question."""
    names = {name.lower() for name in (*question.code_names, *find_capitalised_words(question.text))}
    parts = _make_question_part_finder(ranking.rarities)
    own = [parts(symbol.name) for symbol in outline.symbols]
    by_line = {line: found for line, row in enumerate(text.split("\n"), 1) if (found := parts(row))}
    numbers = list(by_line)

    def worth(found: Iterable[str]) -> float:
        return sum(ranking.rarities[part] for part in found)

    scores: list[float] = []
    for index, symbol in enumerate(outline.symbols):
        length = symbol.end_line - symbol.start_line + 1
        score = worth(own[index])
        if symbol.doc:
            score += 0.5 * worth(parts(symbol.doc))
        if symbol.parent is not None:
            score += 0.3 * worth(own[symbol.parent])
        inside = numbers[bisect_left(numbers, symbol.start_line) : bisect_right(numbers, symbol.end_line)]
        score += (
            SYMBOL_TEXT_RANKING_WEIGHT
            * worth({part for line in inside for part in by_line[line]})
            / (1 + math.log1p(length) / 4)
        )
        if symbol.name.lower() in names:
            score += 5.0
        if any(symbol.start_line <= line <= symbol.end_line for line in lines):
            score += 10.0 + 5.0 / length
        score *= 1 + math.log1p(length) * 0.02
        scores.append(score * (0.3 if is_one_line_member(symbol) else 1.0))
    return scores


def _make_question_part_finder(rarities: Mapping[str, float]) -> Callable[[str], frozenset[str]]:
    """Returns the parts of a question's words that a text contains; a quick check of the beginning excludes most
    texts."""
    none = frozenset[str]()
    if not rarities:
        return lambda text: none
    may_have = re.compile("|".join(sorted({re.escape(part[:3]) for part in rarities})), re.IGNORECASE).search
    return lambda text: frozenset(rarities.keys() & split_into_word_parts(text)) if may_have(text) else none


def is_ranking_confident(
    store: RepositoryIndex, question: RepositoryMapQuestion, places: Sequence[RankedFile]
) -> bool:
    """Returns whether the ranking is certain: the question has a path with a line or the exact name of a rare symbol,
    or the first file is far ahead."""
    if any(line for _, line in question.named_paths):
        return True
    return bool(places) and (
        len(places) < 10
        or places[0].score >= MIN_SCORE_RATIO_OF_CONFIDENT_RANKING * places[9].score
        or any(
            places[0].file.id in definers
            for name in question.code_names
            if len(definers := store.files_defining_name(name, _MAX_DEFINING_FILES)) <= 3
        )
    )


def format_ranking_reason(
    store: RepositoryIndex, question: RepositoryMapQuestion, ranking: FileRanking, place: RankedFile
) -> str:
    """Explains why a file is ranked: the rarest words of the question that it contains, and its score."""
    rarest = sorted(ranking.rarities, key=lambda part: -ranking.rarities[part])[:_MAX_FULL_TEXT_SEARCH_TERMS]
    having = (question.word_parts[part] for part in rarest if store.contains_word(place.file.id, part))
    words = list(itertools.islice(dict.fromkeys(having), _MAX_REASON_WORDS)) or ["earlier changes"]
    return f"{', '.join(words)} ({place.score:.2f})"


def find_package_folders(store: RepositoryIndex, paths: Sequence[str]) -> set[str]:
    """Returns the package folders of files: those of the nearest manifests above them, without the root."""
    found: dict[str, str] = {}

    def package(folder: str) -> str:
        if folder and folder not in found:
            is_one = any(
                store.indexed_file_at_path(f"{folder}/{name}") is not None for name in _PACKAGE_MANIFEST_NAMES
            )
            found[folder] = folder if is_one else package(folder.rpartition("/")[0])
        return found[folder] if folder else ""

    return {package(path.rpartition("/")[0]) for path in paths[-10:]} - {""}


def _is_test_folder_name(folder: str) -> bool:
    return classify_repository_file(f"{folder}/x", "python", b"") == "test"
