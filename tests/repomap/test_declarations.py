"""Names that a source declares are found by its lines; answers make outlines that the index does not have yet."""

from pathlib import Path

import pytest

from tests.repomap.boat_repository import FILES, shown
from tools.repomap.index import index_updates
from tools.repomap.index.declared_names import find_declared_names
from tools.repomap.index.file_records import make_index_record_with_words
from tools.repomap.index.index_updates import FolderToIndex, open_index_for_writing, update_index
from tools.repomap.index.word_parts import find_identifiers
from tools.repomap.mapped_repository import MappedRepository


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "python",
            "LIMIT = 3\nclass Boat:\n    def moor(self):\n        return sail()\n",
            {"LIMIT", "Boat", "moor"},
        ),
        ("go", "func (b *Boat) Moor() error {\n\treturn b.sail()\n}\n", {"b", "Boat", "Moor"}),
        ("ruby", "class Boat\n  def self.moor\n    sail\n  end\nend\n", {"Boat", "self", "moor"}),
        (
            "c",
            "static int\nmoor(struct boat *b, int x)\n{\n  if (x) {\n    sail(b);\n  }\n}\n",
            {"boat", "moor"},
        ),
        ("java", "class Boat {\n  @Override public void moor(Rope rope) throws Slip {\n", {"Boat", "moor"}),
        ("typescript", "export const port = 1\nconst moor = async (boat: Boat) => {\n", {"port", "moor"}),
        ("haskell", "moor :: Boat -> Port\nmoor boat = sail boat\n", {"moor"}),
        ("markdown", "# The boat\n\ntext\n", {"The boat"}),
    ],
)
def test_declared_names_are_found_without_a_parser(language: str, text: str, names: set[str]):
    assert set(find_declared_names(language, text, find_identifiers(text))) == names


def test_a_line_of_any_shape_takes_no_time():
    line = "a* " * 20_000 + "(" * 20_000
    assert find_declared_names("c", line, find_identifiers(line)) == []


def test_answers_before_outlines_are_made_name_symbols(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_updates, "make_complete_index_record", make_index_record_with_words)
    repository = MappedRepository(folder, tmp_path / "cache")
    with open_index_for_writing(repository.index) as store:
        assert update_index(store, FolderToIndex(folder))
        assert len(store.files_without_outline()) == len(FILES) - 1  # of a secret only the path is indexed
    assert not repository.is_index_complete
    assert "harbour/cache.py" in shown(repository, "the directory of the read cache")
    assert [one.name for one in repository.find_definitions("ReadCache")[0]] == ["ReadCache"]
    assert [one.name for one in repository.find_definitions("Oar.get")[0]] == ["Oar.get"]
    assert [one.name for one in repository.find_symbols_like_text("ReadCa")] == [
        "ReadCache",
        "ReadCacheProto",
    ]
    assert repository.complete_index(workers=0) == ""
    assert repository.is_index_complete
    assert [one.name for one in repository.find_symbols_like_text("ReadCa")] == [
        "ReadCache",
        "ReadCacheProto",
    ]
