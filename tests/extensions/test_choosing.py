"""Settings, flags, trust and packages together decide what is loaded."""

from app.extensions.guard import limits_in_force
from app.extensions.loading.choosing import Asked, choose
from app.extensions.packages.installing import commit, stage
from app.resources.paths import Paths
from app.resources.settings.in_force import InForce
from app.resources.settings.settings import Settings


def names(paths: Paths, settings: Settings, asked: Asked | None = None) -> list[str]:
    chosen = choose(paths, settings, asked or Asked(), is_trusted=True)
    return [source.name for source in chosen.sources if source.origin not in ("builtin", "entry-point")]


def test_everything_together(paths: Paths, write):
    write("mine.py", "def extension(api): pass")
    package = paths.home / "notes"
    (package / "skills" / "pdf").mkdir(parents=True)
    (package / "notes.py").write_text("def extension(api): pass")
    (package / "skills" / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: x\n---\n")
    commit(paths, stage(paths, str(package)))
    (paths.cwd / "here.py").write_text("def extension(api): pass")
    settings = InForce(flags={"extensions": ["here.py", "-mine"], "skills": ["~/more", "less"]}).settings
    assert names(paths, settings) == ["here", "notes"]
    assert names(paths, settings, Asked(is_safe=True)) == []
    assert names(paths, settings, Asked(only_named=True, named=("here.py",))) == ["here"]
    chosen = choose(paths, settings, is_trusted=False)
    installed = paths.packages_dir / "notes" / "skills" / "pdf"
    assert chosen.skills == (paths.home / "more", paths.cwd / "less", installed.resolve())
    assert choose(paths, settings, Asked(is_safe=True), is_trusted=True).skills == chosen.skills[:2]


def test_a_broken_list_of_packages_is_told_and_the_rest_is_loaded(paths: Paths, write):
    write("mine.py", "def extension(api): pass")
    paths.packages_dir.mkdir(parents=True)
    (paths.packages_dir / "installed.json").write_text("{")
    chosen = choose(paths, Settings(), is_trusted=True)
    assert "mine" in [source.name for source in chosen.sources]
    assert "installed.json cannot be read" in chosen.problems[0]


def test_limits_come_from_the_settings():
    limits = limits_in_force(
        InForce(flags={"extensionLimits.hookTimeoutMs": 500, "extensionLimits.blockTimeoutMs": 100})
    )
    assert (limits.answer, limits.slow_answer, limits.block, limits.load) == (0.5, 15.0, 0.1, 10.0)
