"""`bayou install pip:…` takes a name and a version from the index: all else is refused before anything is started."""

import sys
from pathlib import Path

import pytest

from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import list_installed_packages, stage_package
from app.resources.paths import BayouPaths
from tests.hostile.conftest import Put, program

REFUSED = [
    *(
        ".",
        "./here",
        "/tmp/theirs",
        "../up",
        "here/",
        "~/x",
        "file:///tmp/theirs",
        "theirs.whl",
        "theirs.tar.gz",
    ),
    *("git+https://example.org/x.git", "hg+ssh://example.org/x", "https://example.org/x.whl"),
    *("x @ https://example.org/x.whl", "x@git+https://example.org/x", "x[extra] @ file:///tmp/x"),
    *(
        "-r requirements.txt",
        "--index-url=https://example.org",
        "-e.",
        "x --pre",
        "x\n--pre",
        "x;python_version>'3'",
    ),
    *("x>=1", "x==1 --no-binary=:all:", "x==-1", "", " ", "\u202ex"),
]


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_name_is_refused_before_anything_is_started(
    what: str, paths: BayouPaths, folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch, put: Put
) -> None:
    for place in (folder, folder / "here"):
        put(place / "setup.py", f"open({str(mark)!r}, 'w')\n")
    monkeypatch.setattr(sys, "executable", str(program(folder.parent / "python", f"touch '{mark}'; exit 1")))
    monkeypatch.chdir(folder)
    with pytest.raises(PackageError, match="write a package name"):
        stage_package(paths, f"pip:{what}")
    assert not mark.exists()
    assert list_installed_packages(paths) == ()


def test_a_pip_in_the_folder_is_not_taken_for_pip(
    paths: BayouPaths, folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch, put: Put
) -> None:
    put(folder / "pip.py", f"open({str(mark)!r}, 'w')\n")
    put(folder / "uv.toml", 'index-url = "https://example.org"\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", ".")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(folder.parent))):
        monkeypatch.setenv(f"PIP_{name}", value)
        monkeypatch.setenv(f"UV_{name}", value)
    with pytest.raises(PackageError):
        stage_package(paths, "pip:there-is-no-such-package")
    assert not mark.exists()


def test_a_source_is_not_built(
    paths: BayouPaths, folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that offers nothing but source."""
    import tarfile

    code = folder / "theirs-1.0"
    code.mkdir()
    (code / "setup.py").write_text(
        f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(name='theirs')\n"
    )
    with tarfile.open(folder.parent / "theirs-1.0.tar.gz", "w:gz") as archive:
        archive.add(code, "theirs-1.0")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(folder.parent))):
        monkeypatch.setenv(f"PIP_{name}", value)
        monkeypatch.setenv(f"UV_{name}", value)
    with pytest.raises(PackageError):
        stage_package(paths, "pip:theirs")
    assert not mark.exists()


def wheel(folder: Path, name: str, *requires: str) -> None:
    """A distribution as an index has it, with an extension in it."""
    import zipfile

    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        "Version: 1.0",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", "def extension(api): ...\n")
        archive.writestr(f"{about}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/entry_points.txt", f"[bayou.extensions]\n{name} = {name}\n")
        archive.writestr(f"{about}/RECORD", "")


@pytest.mark.parametrize("is_deep", [False, True])
def test_a_distribution_that_depends_on_an_address_is_refused_before_it_is_fetched(
    paths: BayouPaths, folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch, put: Put, is_deep: bool
) -> None:
    """pip would build it, only wheels or not."""
    put(
        folder / "evil" / "pyproject.toml",
        '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n',
    )
    put(folder / "evil" / "own.py", f"open({str(mark)!r}, 'w')\n")
    index = folder.parent / "index"
    index.mkdir()
    address = f"evil @ file://{folder}/evil"
    wheel(index, "theirs", "middle>=1" if is_deep else address, "dev-things @ file:///x ; extra == 'dev'")
    wheel(index, "middle", address)
    wheel(index, "fine", "plain", "dev-things @ file:///x ; extra == 'dev'")
    wheel(index, "plain")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(index))):
        monkeypatch.setenv(f"PIP_{name}", value)
        monkeypatch.setenv(f"UV_{name}", value)
    with pytest.raises(PackageError):
        stage_package(paths, "pip:theirs")
    assert not mark.exists() and list_installed_packages(paths) == ()
    staged = stage_package(paths, "pip:fine")
    assert staged.package.revision == "1.0" and (staged.place / "plain.py").is_file()


def test_a_package_with_a_link_out_of_it_is_refused(paths: BayouPaths, folder: Path, put: Put) -> None:
    put(folder / "theirs" / "one.py", "def extension(api): ...")
    put(folder / "elsewhere.py", "def extension(api): ...")
    (folder / "theirs" / "two.py").symlink_to(folder / "elsewhere.py")
    with pytest.raises(PackageError, match="to a place outside the package"):
        stage_package(paths, str(folder / "theirs"))


def test_a_name_of_a_file_cannot_add_lines_to_what_is_shown(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    put(folder / "theirs" / "extensions" / "one.py\n  skill: harmless.py", "def extension(api): ...")
    (line,) = stage_package(paths, str(folder / "theirs")).package.contents.describe_lines()
    assert line.startswith("runs Python code: ") and "\n" not in line


def test_a_manifest_that_is_nested_too_deeply_is_refused_with_its_name(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    put(folder / "theirs" / "bayou.json", "[" * 100_000)
    with pytest.raises(PackageError, match="cannot be read"):
        stage_package(paths, str(folder / "theirs"))
