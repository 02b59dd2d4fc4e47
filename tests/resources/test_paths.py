"""Where things lie."""

from pathlib import Path

from app.resources.paths import BayouPaths, project_root, shipped_styles_dir


def test_the_agent_folder_is_in_the_home_unless_the_environment_says_otherwise(tmp_path: Path):
    paths = BayouPaths.from_env({"HOME": "/home/ann"}, tmp_path)
    assert paths.agent_dir == Path("/home/ann/.bayou/agent")
    assert paths.sessions_dir == Path("/home/ann/.bayou/agent/sessions")
    env = {"HOME": "/home/ann", "BAYOU_AGENT_DIR": "~/b", "BAYOU_SESSION_DIR": "s"}
    paths = BayouPaths.from_env(env, tmp_path)
    assert paths.agent_dir == Path("/home/ann/b")
    assert paths.sessions_dir == tmp_path / "s"


def test_paths_are_shown_short():
    paths = BayouPaths.from_env({"HOME": "/home/ann"}, Path("/home/ann/project"))
    assert paths.shown(Path("/home/ann/project/a.py")) == "a.py"
    assert paths.shown(Path("/home/ann/x")) == "~/x"
    assert paths.shown(Path("/etc/hosts")) == "/etc/hosts"


def test_the_styles_lie_in_the_checkout():
    assert shipped_styles_dir().name in ("styles", "_styles")


def test_the_project_root_is_the_nearest_repository(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project_root(inner) == tmp_path
