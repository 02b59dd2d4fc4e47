"""What changed in the pictures of screens, as one page.

    python -m tests.review                        HEAD against what the last run made
    python -m tests.review main..branch           two commits; nothing is run or checked out
    python -m tests.review --gallery              every picture
    python -m tests.review accept 'queue-80x24*'  takes pictures of the last run, by name or by change; runs nothing
    python -m tests.review accept --all-but 'queue*'  takes all others

It reads SVGs as Rich and Textual write them and knows nothing of what they show, so it serves any project that keeps
such pictures: copy the folder. `review.json` beside the pictures may name colours and say what is made up.
"""

import argparse
import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.review.changes import Comparison, compare, compare_texts, place_of
from tests.review.drawing import read_drawing
from tests.review.page import About, changes_page, gallery_page
from tests.review.runs import Made, accept, is_acceptable, keep_changes, made_by_last_run
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
    about = _about(comparison, root / review.tests, review, made_by_last_run(runs), pictures)
    _keep_changes(runs, comparison)
    write_page(changes_page(comparison, "Pictures of the last run against those stored", review, about), out)
    return [
        f"{comparison.told()[:1].upper()}{comparison.told()[1:]}",
        *comparison.rows(),
        f"To look at them: {out.relative_to(root)}",
        "To take them: python -m tests.review accept NAME, or change:ID from that page.",
    ]


def _keep_changes(runs: Path, comparison: Comparison) -> None:
    keep_changes(runs, {group.id: [one.name for one in group.changes] for group in comparison.alike})


def _about(
    comparison: Comparison, tests: Path, review: Review, made: Mapping[str, Made], pictures: Path
) -> dict[str, About]:
    """`made`: the pictures that can be accepted."""
    names = [change.name for group in comparison.alike for change in group.changes]
    words = words_of_tests(tests, names)
    return {
        name: About(
            words=made[name].words if name in made else words[name],
            test=made[name].test.partition("[")[0] if name in made else test_of(name, review),
            is_made=name in made,
            is_stale=name in made and not is_acceptable(pictures, made[name]),
        )
        for name in names
    }


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


def test_of(name: str, review: Review) -> str:
    """The test that makes a picture, by the picture's name."""
    place = place_of(name)
    return f"{review.tests}/{place.module}.py::{place.test}"


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
        "--all-but", action="store_true", help="accept: all pictures of the last run but those named"
    )
    parser.add_argument("--reviewed-by", metavar="NAME", help="accept: who reviewed them (git's user.name)")
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
    return parser.parse_intermixed_args(words)


def main(words: list[str]) -> int:
    asked = _options(words)
    try:
        in_commits = any(".." in one for one in asked.range) and asked.range[0] != "accept"
        where = Where(asked.pictures, asked.runs, in_commits=in_commits)
        if asked.range[:1] == ["accept"]:
            return _accept(where, asked)
        if len(asked.range) > 1:
            raise NotThere("One range is enough: A..B.")
        if asked.gallery:
            return _gallery(where, Path(asked.out))
        if asked.all_but or asked.reviewed_by:
            raise NotThere("--all-but and --reviewed-by belong to: python -m tests.review accept")
        print(_review(where, asked.range[0] if asked.range else "HEAD", Path(asked.out)))
    except NotThere as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


def _review(where: Where, given: str, out: Path) -> str:
    is_range, can_accept = ".." in given, given == "HEAD"
    comparison = range_of(where, given) if is_range else last_run_against(where, given)
    title = f"Pictures {given}" if is_range else f"Pictures {given} against the last run"
    made = made_by_last_run(where.runs) if can_accept else {}
    if can_accept:
        _keep_changes(where.runs, comparison)
    about = _about(comparison, where.repository / where.review.tests, where.review, made, where.pictures)
    page = write_page(changes_page(comparison, title, where.review, about), out)
    return "\n".join([comparison.told(), *comparison.rows(), page])


def _accept(where: Where, asked: argparse.Namespace) -> int:
    patterns = asked.range[1:]
    if not patterns:
        raise NotThere("Say which: python -m tests.review accept 'queue-80x24*', or change:ID from the page.")
    reviewer = (asked.reviewed_by or _git_user(where)).strip()
    if not reviewer:
        raise NotThere("git knows no user.name. Say who reviewed them: --reviewed-by NAME.")
    for name in accept(where.runs, where.pictures, patterns, reviewer, all_but=asked.all_but):
        print(f"accepted {name}")
    return 0


def _git_user(where: Where) -> str:
    return (git(where.repository, "config", "user.name") or b"").decode("utf-8", "replace")


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
