"""Settings, flags, trust and packages together decide what is loaded."""

from app.extensions.loading.extension_sources import ExtensionCommandLineFlags, choose_extension_sources
from app.extensions.packages.package_installer import install_staged_package, stage_package
from app.extensions.time_limits import read_hook_limits
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings


def names(paths: BayouPaths, settings: Settings, asked: ExtensionCommandLineFlags | None = None) -> list[str]:
    chosen = choose_extension_sources(paths, settings, asked or ExtensionCommandLineFlags(), is_trusted=True)
    return [source.name for source in chosen.sources if source.origin not in ("builtin", "entry-point")]


def test_everything_together(paths: BayouPaths, write):
    write("mine.py", "def extension(api): pass")
    package = paths.home / "notes"
    (package / "skills" / "pdf").mkdir(parents=True)
    (package / "notes.py").write_text("def extension(api): pass")
    (package / "skills" / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: x\n---\n")
    install_staged_package(paths, stage_package(paths, str(package)))
    (paths.cwd / "here.py").write_text("def extension(api): pass")
    settings = EffectiveSettings(
        flags={"extensions": ["here.py", "-mine"], "skills": ["~/more", "less"]}
    ).settings
    assert names(paths, settings) == ["here", "notes"]
    assert names(paths, settings, ExtensionCommandLineFlags(is_safe=True)) == []
    assert names(paths, settings, ExtensionCommandLineFlags(only_named=True, named=("here.py",))) == ["here"]
    chosen = choose_extension_sources(paths, settings, is_trusted=False)
    installed = paths.packages_dir / "notes" / "skills" / "pdf"
    assert chosen.skills == (paths.home / "more", paths.cwd / "less", installed.resolve())
    assert (
        choose_extension_sources(
            paths, settings, ExtensionCommandLineFlags(is_safe=True), is_trusted=True
        ).skills
        == chosen.skills[:2]
    )


def test_a_broken_list_of_packages_is_reported_and_the_rest_is_loaded(paths: BayouPaths, write):
    write("mine.py", "def extension(api): pass")
    paths.packages_dir.mkdir(parents=True)
    (paths.packages_dir / "installed.json").write_text("{")
    chosen = choose_extension_sources(paths, Settings(), is_trusted=True)
    assert "mine" in [source.name for source in chosen.sources]
    assert "installed.json cannot be read" in chosen.problems[0]


def test_limits_come_from_the_settings():
    limits = read_hook_limits(
        EffectiveSettings(flags={"extensionLimits.hookTimeoutMs": 500, "extensionLimits.blockTimeoutMs": 100})
    )
    assert (limits.answer_seconds, limits.slow_answer_seconds, limits.block_seconds, limits.load_seconds) == (
        0.5,
        15.0,
        0.1,
        10.0,
    )
