"""`bayou map` of folders that cannot be read whole."""

from pathlib import Path

from tests.cli.test_bad_input import bayou, obey_modes


def test_what_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "boats.py").write_text("def launch_boat():\n    pass\n")
    (tmp_path / "sealed.py").write_text("def launch_boat():\n    pass\n")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "boats.py").write_text("def launch_boat():\n    pass\n")
    (tmp_path / "data.bin").write_bytes(b"\0" * 100)
    (tmp_path / "sealed.py").chmod(0)
    (tmp_path / "private").chmod(0)
    try:
        asked = bayou("map", ".", "--about", "launch the boat", cwd=tmp_path, before=obey_modes)
        told = bayou("map", ".", "--index", cwd=tmp_path, before=obey_modes)
    finally:
        (tmp_path / "private").chmod(0o700)
    assert asked.stdout.startswith("boats.py"), asked.stderr
    assert "sealed.py" not in asked.stdout
    assert "Cannot be read: private." in asked.stdout
    assert "binary 1" in told.stdout and "unreadable: Permission denied 1" in told.stdout
    assert "unreadable folders: private" in told.stdout
