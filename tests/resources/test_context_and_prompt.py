"""Context files and the system prompt that is made with them."""

import subprocess
from collections import UserDict
from collections.abc import ValuesView
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.engine.models.prompt_sources import SystemPromptOptions, SystemPromptSource
from app.resources.context_files import find_context_files
from app.resources.paths import BayouPaths
from app.resources.system_prompt import (
    SYSTEM_PROMPT_ROLE_TEXT,
    PromptRuleEntry,
    PromptSkillEntry,
    PromptToolEntry,
    SystemPromptParts,
    build_system_prompt,
    read_system_prompt_files,
)
from tools.tool_definition import Tool


def test_files_come_from_the_agent_folder_then_from_the_root_down(paths: BayouPaths, put):
    put(paths.agent_dir / "AGENTS.md", "mine")
    put(paths.cwd / "CLAUDE.md", "project")
    put(paths.cwd.parent / "AGENTS.md", "above")
    assert [file.text for file in find_context_files(paths).files] == ["mine", "above", "project"]


def test_one_file_per_folder_in_order_of_rank(paths: BayouPaths, put):
    for name in ("CLAUDE.md", "AGENTS.md", "AGENTS.override.md"):
        put(paths.cwd / name, name)
        assert [file.text for file in find_context_files(paths).files] == [name]


def test_a_file_that_cannot_be_read_is_reported_and_the_others_count(paths: BayouPaths, put):
    put(paths.cwd.parent / "AGENTS.md", "above")
    (paths.cwd / "AGENTS.md").write_bytes(b"\xff\xfe\xff")
    found = find_context_files(paths)
    assert [file.text for file in found.files] == ["above"]
    assert "not UTF-8" in found.problems[0]


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_a_worktree_inside_its_checkout_does_not_say_everything_twice(paths: BayouPaths, put):
    main = paths.cwd
    git(main, "init", "-q")
    put(main / "AGENTS.md", "the project")
    put(main / "src" / "AGENTS.md", "its source")
    git(main, "add", ".")
    git(main, "commit", "-qm", "x")
    git(main, "worktree", "add", "-q", str(main / "trees" / "one"))
    put(main / "trees" / "AGENTS.md", "about trees")
    inner = BayouPaths.from_env({"HOME": str(paths.home)}, main / "trees" / "one" / "src")
    texts = [file.text for file in find_context_files(inner).files]
    assert texts == ["about trees", "the project", "its source"]


def parts(**more: object) -> SystemPromptParts:
    tools = (
        PromptToolEntry(name="read", snippet="read a file", guidelines=("Read before you edit.",)),
        PromptToolEntry(name="bash", snippet="run a command"),
        PromptToolEntry(name="hidden"),
    )
    return SystemPromptParts(**{"cwd": Path("/p"), "tools": tools, **more})  # pyright: ignore[reportArgumentType]  (fields of SystemPromptParts)


def test_sections_come_in_order_and_only_the_first_is_bare(paths: BayouPaths, put):
    put(paths.cwd / "AGENTS.md", "Use tabs.")
    prompt = build_system_prompt(
        parts(
            appended_texts=("Also this.",),
            context_files=find_context_files(paths).files,
            skills=(PromptSkillEntry(name="pdf", description="Reads <PDF>", location="/s/SKILL.md"),),
            docs_dir="/docs",
            always_rules=(("style", "No semicolons."),),
            rulebook=(PromptRuleEntry(name="api", description="How APIs look", globs=("*.py",)),),
            sections={"weather": "sunny", "cwd": "ignored", "Bad Name": "ignored"},
        )
    )
    assert [name for name, _ in prompt.sections] == [
        "preamble",
        "tools",
        "rules",
        "docs",
        "addendum",
        "project_context",
        "project_rules",
        "skills",
        "cwd",
        "weather",
    ]
    assert prompt.text.startswith(SYSTEM_PROMPT_ROLE_TEXT)
    assert "<tools>\n- read: read a file\n- bash: run a command\n" in prompt.text
    assert "hidden" not in prompt.text
    assert "<description>Reads &lt;PDF&gt;</description>" in prompt.text
    assert f'<project_instructions path="{paths.cwd}/AGENTS.md">\nUse tabs.' in prompt.text
    assert '<rule name="style">\nNo semicolons.' in prompt.text
    assert "- api: How APIs look (files: *.py)" in prompt.text
    assert prompt.text.endswith("<weather>\nsunny\n</weather>")


def test_a_custom_prompt_replaces_role_tools_and_rules_only():
    prompt = build_system_prompt(
        parts(custom_prompt="You are a pirate.", appended_texts=("Aye.",), docs_dir="/docs")
    )
    assert [name for name, _ in prompt.sections] == ["preamble", "addendum", "cwd"]


def test_the_shell_rule_shows_only_where_the_shell_is_all_there_is():
    assert "rg, find" in build_system_prompt(parts()).text
    with_grep = parts(
        tools=(PromptToolEntry(name="bash", snippet="x"), PromptToolEntry(name="grep", snippet="y"))
    )
    assert "rg, find" not in build_system_prompt(with_grep).text


def test_skills_are_listed_only_for_those_who_can_read_them():
    skills = (PromptSkillEntry(name="pdf", description="x", location="/s"),)
    assert "skills" not in build_system_prompt(parts(skills=skills, tools=())).as_dict()


@given(st.lists(st.text(max_size=20), max_size=3), st.dictionaries(st.text(max_size=5), st.text(max_size=10)))
def test_the_same_parts_give_the_same_bytes(guidelines: list[str], sections: dict[str, str]):
    def build() -> str:
        return build_system_prompt(parts(guidelines=tuple(guidelines), sections=dict(sections))).text

    assert build() == build()


def test_the_projects_prompt_files_count_over_ones_own_once_trusted(paths: BayouPaths, put):
    put(paths.agent_dir / "SYSTEM.md", "mine")
    put(paths.project_dir / "SYSTEM.md", "theirs")
    put(paths.agent_dir / "APPEND_SYSTEM.md", "and")
    assert read_system_prompt_files(paths, is_trusted=False).system == "mine"
    trusted = read_system_prompt_files(paths, is_trusted=True)
    assert (trusted.system, trusted.append) == ("theirs", "and")


def test_a_prompt_made_of_files_that_were_read_anew_meanwhile_is_not_kept(paths: BayouPaths, put):
    """It is made beside the event loop at the start, where extensions may bring more before that ends."""
    put(paths.agent_dir / "APPEND_SYSTEM.md", "old words")
    source = SystemPromptSource(paths, SystemPromptOptions())

    class ReadMeanwhile(UserDict[str, Tool]):
        def values(self) -> ValuesView[Tool]:
            put(paths.agent_dir / "APPEND_SYSTEM.md", "new words")
            source.reload_files()
            return super().values()

    source(ReadMeanwhile())
    assert "new words" in source({})["addendum"]
