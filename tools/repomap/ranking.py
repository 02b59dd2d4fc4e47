"""Which files and symbols a question is most likely about: by words over four fields, exact names, traces, neighbours.

The weights are first guesses that held on 108 questions of eight repositories; what was added later was chosen by 154
questions of eleven. `python -m bench repository-maps` measures them on others. Nothing of a repository changes them.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tools.filemap.symbols import says_little
from tools.repomap.kinds import WEIGHTS, is_about_tests
from tools.repomap.listing import is_below
from tools.repomap.packing import KeptOutline, counts_in
from tools.repomap.parts import capitalised_in, distinct_parts, emphasis, names_in, parts_of, question_words
from tools.repomap.store import IndexedFile, IndexStore

EXACT = 0.35
BY_FILE_NAME = 0.35
"""What the file itself is called says more than the folders that it lies in. With `emphasis` it made 78.6 % of 154
questions 83.1 %, by the first ten files."""
NEAR_BY_NAMES = 0.35
CHANGED_TOGETHER = 0.5
"""Of 568 questions of sixteen repositories with one file known another is among the first five in 82 %, and by each of
a wide range of weights in 80 to 82. Files that use its names or are named in it, that lie beside it or are called as it
is added nothing."""
SAME_PACKAGE = 1.5
"""In a repository of several: what lies in that of the files of the conversation."""
_MANIFESTS = (
    "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
    "build.gradle.kts", "composer.json", "Gemfile", "mix.exs", "pubspec.yaml", "Package.swift", "CMakeLists.txt",
)  # fmt: skip
_MOST_LOOKED_AT = 400
_MOST_DEFINERS = 20
_RARE_DEFINERS = 4
_IN_TRACE = 3.0
_TRACE = re.compile(
    r"""File\ "(?P<python>[^"\n]+)",\ line\ (?P<python_line>\d+)
    |(?P<path>[\w@+~./\\-]+\.[A-Za-z]\w{0,7}):(?P<line>\d+)(?::\d+)?""",
    re.VERBOSE,
)
_PATH = re.compile(r"(?<![\w/])[\w@+~.-]*(?:/[\w@+~.-]+)+|\b[\w-]+\.[a-z]\w{0,4}\b")


class MapQuestion(msgspec.Struct, frozen=True):
    """What is asked, taken apart."""

    text: str
    parts: tuple[str, ...]
    emphasis: Mapping[str, int]
    """How often each part is asked for."""
    words: tuple[str, ...]
    """As they stand in the question, one for each part."""
    names: tuple[str, ...]
    """What looks like a name of code."""
    traces: tuple[tuple[str, int], ...]
    """Paths with lines, as they stand in stack traces and messages."""
    paths: tuple[str, ...]


class LikelyFile(msgspec.Struct, frozen=True):
    """A file that may be meant."""

    file: IndexedFile
    score: float
    lines: frozenset[int] = frozenset()
    """Those that the question names."""


class Ranking(msgspec.Struct, frozen=True):
    places: tuple[LikelyFile, ...]
    rarities: Mapping[str, float]
    """Of the question's words: how much each says."""
    is_near_alone: bool
    """Nothing has its words; these files are near those of the conversation."""


def question_of(text: str) -> MapQuestion:
    words = question_words(text)
    traces = tuple(
        (match["python"] or match["path"], int(match["python_line"] or match["line"]))
        for match in _TRACE.finditer(text)
    )
    return MapQuestion(
        text=text,
        parts=tuple(words),
        emphasis=emphasis(text),
        words=tuple(words.values()),
        names=tuple(names_in(text)),
        traces=traces[:200],
        paths=tuple(dict.fromkeys(_PATH.findall(text)))[:50],
    )


def rank(
    store: IndexStore, question: MapQuestion, *, below: str = "", known: Sequence[str] = (), most: int = 60
) -> Ranking:
    """The likeliest files first. `below`: a folder to stay in; `known`: files of the conversation."""
    rarities = _rarities(store, question.parts)
    asked = [part for part in question.parts for _ in range(question.emphasis[part])]
    scores = _normalised(dict(store.matching(asked, _MOST_LOOKED_AT)))
    exact = _exact(store, question)
    for id, score in _normalised(exact).items():
        scores[id] = scores.get(id, 0.0) + EXACT * score
    lines = _traced(store, question, scores)
    asked_for = frozenset(scores)
    _add_neighbours(store, scores, known)
    about_tests = is_about_tests(question.text) or _is_test_folder(below)
    packages = packages_of(store, known)
    files = [file for file in store.files_of(scores) if is_below(file.path, below)]
    called = _normalised({file.id: _worth(_end(file.path).partition(".")[0], rarities) for file in files})
    places: list[LikelyFile] = []
    for file in files:
        weight = 1.0 if file.id in lines or (file.kind == "test" and about_tests) else WEIGHTS[file.kind]
        if any(is_below(file.path, package) for package in packages):
            weight *= SAME_PACKAGE
        score = scores[file.id] + BY_FILE_NAME * called.get(file.id, 0.0)
        places.append(LikelyFile(file, score * weight, frozenset(lines.get(file.id, ()))))
    places.sort(key=lambda place: (-place.score, len(place.file.path), place.file.path))
    shown = tuple(places[:most])
    is_near_alone = bool(shown) and not any(place.file.id in asked_for for place in shown)
    return Ranking(shown, rarities, is_near_alone)


def rank_paths(paths: Iterable[str], question: MapQuestion, most: int) -> list[str]:
    """By their names alone, where nothing else is known yet."""
    wanted = set(question.parts)
    # Of thousands of paths few have any of the words, and no stem changes how a word begins but for its last letter.
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
        hits = len(wanted.intersection(parts_of(path)))
        if hits:
            scored.append((-hits, len(path), path))
    return [path for _, _, path in sorted(scored)[:most]]


def symbol_scores(
    outline: KeptOutline, question: MapQuestion, ranking: Ranking, lines: frozenset[int]
) -> list[float]:
    """How likely each symbol is meant: those that the question names first, then by its words in name, owner and doc,
    then the long ones."""
    names = {name.lower() for name in question.names} | {
        name.lower() for name in capitalised_in(question.text)
    }
    worth = _worth_of(ranking.rarities)
    own = [worth(symbol.name) for symbol in outline.symbols]
    scores: list[float] = []
    for index, symbol in enumerate(outline.symbols):
        length = symbol.end_line - symbol.start_line + 1
        score = math.log1p(length) * 0.05 + own[index]
        if symbol.doc:
            score += 0.5 * worth(symbol.doc)
        if symbol.parent is not None:
            score += 0.3 * own[symbol.parent]
        if symbol.name.lower() in names:
            score += 5.0
        if lines and any(symbol.start_line <= line <= symbol.end_line for line in lines):
            score += 10.0 + 5.0 / length
        scores.append(score * (0.3 if says_little(symbol) else 1.0))
    return scores


def _worth(text: str, rarities: Mapping[str, float]) -> float:
    return sum(rarities[part] for part in distinct_parts(text) if part in rarities)


def _worth_of(rarities: Mapping[str, float]) -> Callable[[str], float]:
    """`_worth` for thousands of texts, of which few have any of the words: no stem changes how a word begins."""
    if not rarities:
        return lambda text: 0.0
    may_have = re.compile("|".join(sorted({re.escape(part[:3]) for part in rarities})), re.IGNORECASE).search
    return lambda text: _worth(text, rarities) if may_have(text) else 0.0


def _rarities(store: IndexStore, parts: Sequence[str]) -> dict[str, float]:
    total = store.count()
    return {part: math.log(1 + total / (1 + store.rarity(part))) for part in parts}


def _normalised(scores: Mapping[int, float]) -> dict[int, float]:
    highest = max(scores.values(), default=0.0)
    return {id: score / highest for id, score in scores.items()} if highest > 0 else {}


def _exact(store: IndexStore, question: MapQuestion) -> dict[int, float]:
    """Files that define a name of the question: a name that many define says little."""
    found: dict[int, float] = {}
    for name in dict.fromkeys((*question.names, *capitalised_in(question.text))):
        definers = {file for file, _ in store.named(name)}
        if 0 < len(definers) <= _MOST_DEFINERS:
            for id in definers:
                found[id] = found.get(id, 0.0) + 1 / math.sqrt(len(definers))
    return found


def _traced(store: IndexStore, question: MapQuestion, scores: dict[int, float]) -> dict[int, set[int]]:
    """Paths of the question lie on top, those with lines first; by the longest end that a file's path shares."""
    named = [(path, line) for path, line in question.traces]
    named += [(path, 0) for path in question.paths]
    if not named:
        return {}
    by_name = {name: list(store.files(called=name)) for name in {_end(path) for path, _ in named} if name}
    lines: dict[int, set[int]] = {}
    for place, (path, line) in enumerate(named):
        likeliest = max(by_name.get(_end(path), ()), key=lambda file: _shared(file.path, path), default=None)
        if likeliest is None or _shared(likeliest.path, path) < min(2, path.count("/") + 1):
            continue
        bonus = _IN_TRACE if line else 0.5
        scores[likeliest.id] = scores.get(likeliest.id, 0.0) + bonus / (1 + place * 0.02)
        if line:
            lines.setdefault(likeliest.id, set()).add(line)
    return lines


def _end(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _shared(path: str, other: str) -> int:
    """How many folders and names at the end are the same."""
    count = 0
    for one, two in zip(
        reversed(path.split("/")), reversed(other.replace("\\", "/").split("/")), strict=False
    ):
        if one != two:
            break
        count += 1
    return count


def _add_neighbours(store: IndexStore, scores: dict[int, float], known: Sequence[str]) -> None:
    """One step from the files of the conversation: by rare names that they use or define, and by changes in common."""
    files = [file for path in known[-10:] if (file := store.file_at(path)) is not None]
    if not files:
        return
    near: dict[int, float] = {}
    together: dict[int, float] = {}
    for file in files:
        for id, score in neighbours_by_names(store, file).items():
            near[id] = near.get(id, 0.0) + score
        for id, times in store.changed_with(file.id).items():
            together[id] = together.get(id, 0.0) + times
    for weight, found in ((NEAR_BY_NAMES, near), (CHANGED_TOGETHER, together)):
        for id, score in _normalised(found).items():
            scores[id] = scores.get(id, 0.0) + weight * score


def neighbours_by_names(store: IndexStore, file: IndexedFile) -> dict[int, float]:
    """Files that share names with this one which at most a few define, weighted by how few."""
    found: dict[int, float] = {}
    total = max(store.count(), 1)
    rarities = {part: store.rarity(part) for part, _ in counts_in(store.body(file.id))}
    rare = sorted(rarities, key=lambda part: rarities[part])[:_MOST_RARE_WORDS]
    asked = [part for part in rare if 1 < rarities[part] <= max(_RARE_FILES, total // 200)]
    for id, score in store.matching(asked, _MOST_LOOKED_AT // 4):
        if id != file.id:
            found[id] = found.get(id, 0.0) + score
    for symbol in store.outline(file.id).symbols:
        definers = {id for id, _ in store.named(symbol.name, _RARE_DEFINERS + 1)}
        if len(definers) <= _RARE_DEFINERS:
            for id in definers - {file.id}:
                found[id] = found.get(id, 0.0) + 1 / len(definers)
    return found


_MOST_RARE_WORDS = 60
_RARE_FILES = 8


def packages_of(store: IndexStore, paths: Sequence[str]) -> set[str]:
    """The folders of the nearest manifests above files; the root is none."""
    found: dict[str, str] = {}

    def package(folder: str) -> str:
        if folder and folder not in found:
            is_one = any(store.file_at(f"{folder}/{name}") is not None for name in _MANIFESTS)
            found[folder] = folder if is_one else package(folder.rpartition("/")[0])
        return found[folder] if folder else ""

    return {package(path.rpartition("/")[0]) for path in paths[-10:]} - {""}


def _is_test_folder(folder: str) -> bool:
    return any(
        part in ("test", "tests", "spec", "specs", "testing", "__tests__") for part in folder.split("/")
    )
