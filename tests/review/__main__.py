"""What changed in the pictures of screens, as one page.

    python -m tests.review                        HEAD against what the last run made
    python -m tests.review main..branch           two commits; nothing is run or checked out
    python -m tests.review --gallery              every picture
    python -m tests.review accept 'queue-80x24*'  takes pictures of the last run, by name or by change; runs nothing

It reads SVGs as Rich and Textual write them and knows nothing of what they show, so it serves any project that keeps
such pictures: copy the folder. `review.json` beside the pictures may name colours and say what is made up.
"""

import argparse
import ast
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.review.changes import Comparison, compare, compare_texts, place_of
from tests.review.drawing import read_drawing
from tests.review.page import changes_page, gallery_page
from tests.review.runs import accept, made_by_last_run
from tests.review.sources import Checkout, Commit, NotThere, Review, git, read_review


class Where:
    """The folders that are meant."""

    def __init__(self, pictures: str, runs: str, *, in_commits: bool = False) -> None:
        """`in_commits`: the folder need not lie there, it may have been deleted since."""
        self.pictures = Path(pictures).resolve()
        self.runs = Path(runs).resolve()
        if not (in_commits or self.pictures.is_dir()):
            raise NotThere(f"There is no folder {pictures}. Say where the pictures are: --pictures FOLDER.")
        here = next(one for one in (self.pictures, *self.pictures.parents) if one.is_dir())
        top = git(here, "rev-parse", "--show-toplevel")
        if top is None:
            raise NotThere(f"{pictures} is in no git repository, so there is nothing to compare with.")
        self.repository = Path(top.decode().rstrip("\n"))
        self.review = read_review(self.pictures)


def last_run_against(where: Where, revision: str = "HEAD") -> Comparison:
    made = {name: one.path for name, one in made_by_last_run(where.runs).items()}
    before = Commit(where.repository, revision, where.pictures)
    return compare(before, Checkout(where.repository, where.pictures, made), where.review)


def last_run_against_stored(pictures: Path, runs: Path, review: Review) -> Comparison:
    made = made_by_last_run(runs)
    stored = {
        name: (pictures / name).read_text("utf-8", "replace") for name in made if (pictures / name).exists()
    }
    return compare_texts(stored, {name: one.path.read_text("utf-8") for name, one in made.items()}, review)


def page_of_red_run(root: Path) -> list[str]:
    """Writes the page of what the last run made otherwise than stored, and says so. Needs no repository."""
    pictures, runs, out = root / "snapshots", root / "build" / "pictures", root / "build" / "review.html"
    review = read_review(pictures)
    comparison = last_run_against_stored(pictures, runs, review)
    words = {name: made.words for name, made in made_by_last_run(runs).items()}
    write_page(changes_page(comparison, "Pictures of the last run against those stored", review, words), out)
    return [
        f"{comparison.told()[:1].upper()}{comparison.told()[1:]}",
        f"To look at them: {out.relative_to(root)}",
        "To take them: python -m tests.review accept NAME, or change:ID from that page.",
    ]


def range_of(where: Where, asked: str) -> Comparison:
    first, _, second = asked.partition("..")
    if second.startswith("."):
        second = second[1:]
        base = git(where.repository, "merge-base", "--", first or "HEAD", second or "HEAD")
        if base is None:
            raise NotThere(f"{asked}: the two have no commit in common")
        first = base.decode().strip()
    before = Commit(where.repository, first or "HEAD", where.pictures)
    after = Commit(where.repository, second or "HEAD", where.pictures)
    return compare(before, after, where.review)


def words_of_tests(tests: Path, names: Iterable[str]) -> dict[str, str]:
    """What a picture's test says of itself, else its module: read, not run."""
    modules: dict[str, dict[str, str]] = {}
    found: dict[str, str] = {}
    for name in names:
        place = place_of(name)
        if place.module not in modules:
            modules[place.module] = _docstrings(tests / f"{place.module}.py")
        said = modules[place.module]
        found[name] = said.get(place.test) or said.get("", "")
    return found


def _docstrings(path: Path) -> dict[str, str]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return {}
    found = {"": ast.get_docstring(tree) or ""}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
    return {name: words.split("\n\n")[0] for name, words in found.items()}


def page_of(comparison: Comparison, title: str, where: Where) -> str:
    names = [change.name for group in comparison.alike for change in group.changes]
    return changes_page(comparison, title, where.review, _words(where, names))


def _words(where: Where, names: Iterable[str]) -> dict[str, str]:
    return words_of_tests(where.repository / where.review.tests, names)


def write_page(text: str, out: Path) -> str:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, "utf-8")
    return f"{out}  ({len(text.encode()) / 1e6:.1f} MB)"


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.review",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("range", nargs="*", metavar="RANGE", help="A..B, A...B, or a commit to compare with")
    parser.add_argument(
        "--gallery", action="store_true", help="all pictures by screen, state, theme and size"
    )
    parser.add_argument(
        "--pictures", default="snapshots", metavar="FOLDER", help="where they are kept (snapshots)"
    )
    parser.add_argument(
        "--runs", default="build/pictures", metavar="FOLDER", help="where runs leave what differs"
    )
    parser.add_argument(
        "--out", default="build/review.html", metavar="FILE", help="the page (build/review.html)"
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    asked = _options(words)
    try:
        in_commits = any(".." in one for one in asked.range) and asked.range[0] != "accept"
        where = Where(asked.pictures, asked.runs, in_commits=in_commits)
        if asked.range[:1] == ["accept"]:
            return _accept(where, asked.range[1:])
        if len(asked.range) > 1:
            raise NotThere("One range is enough: A..B.")
        if asked.gallery:
            return _gallery(where, Path(asked.out))
        given = asked.range[0] if asked.range else "HEAD"
        comparison = range_of(where, given) if ".." in given else last_run_against(where, given)
        title = f"Pictures {given}" if ".." in given else f"Pictures {given} against the last run"
        print(comparison.told())
        print(write_page(page_of(comparison, title, where), Path(asked.out)))
    except NotThere as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


def _accept(where: Where, patterns: list[str]) -> int:
    if not patterns:
        raise NotThere("Say which: python -m tests.review accept 'queue-80x24*', or change:ID from the page.")

    def of_change(id: str) -> list[str]:
        comparisons = (
            last_run_against_stored(where.pictures, where.runs, where.review),
            last_run_against(where),
        )
        groups = [group for comparison in comparisons for group in comparison.alike if group.id == id]
        return [change.name for group in groups for change in group.changes]

    for name in accept(where.runs, where.pictures, patterns, of_change):
        print(f"accepted {name}")
    return 0


def _gallery(where: Where, out: Path) -> int:
    paths = sorted(where.pictures.rglob("*.svg"))
    names = [path.relative_to(where.pictures).as_posix() for path in paths]
    pictures = (
        (name, read_drawing(path.read_text("utf-8", "replace")))
        for name, path in zip(names, paths, strict=True)
    )
    review: Review = where.review
    text = gallery_page(pictures, "Pictures", review, _words(where, names))
    print(write_page(text, out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
