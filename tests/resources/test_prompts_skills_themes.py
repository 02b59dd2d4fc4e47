"""Prompt templates, skills and themes: where they are found and what is made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.resources.frontmatter import split_frontmatter
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import (
    find_prompt_templates,
    split_template_arguments,
    substitute_placeholders,
)
from app.resources.skills import find_skills, parse_sent_skills
from app.resources.themes import find_themes
from app.resources.trust.project_trust import trust_question_for


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("$1 and $2", "a b", "a and b"),
        ("all: $@", "a b", "all: a b"),
        ("all: $ARGUMENTS!", "a b", "all: a b!"),
        ("$3", "a b", ""),
        ("$10", "1 2 3 4 5 6 7 8 9 ten", "ten"),
        ("${1:-x} ${2:-y z}", "a", "a y z"),
        ("${@:-nothing}", "", "nothing"),
        ("${@:2}", "a b c", "b c"),
        ("${@:2:1}", "a b c", "b"),
        ("${@:0:2}", "a b c", "a b"),
        ("${1}", "a", "a"),
        ("$1", "$2 b", "$2"),
        ("costs $x, $ 5", "a", "costs $x, $ 5"),
        ("$ARGUMENTSX", "a", "$ARGUMENTSX"),
    ],
)
def test_substitutions(body: str, arguments: str, expected: str):
    assert substitute_placeholders(body, split_template_arguments(arguments)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b", ("a", "b")),
        ("'a b' c", ("a b", "c")),
        ("don't stop", ("don't", "stop")),
        ('x="a b"', ('x="a', 'b"')),
        ('"open', ('"open',)),
        ('""', ("",)),
    ],
)
def test_a_quote_counts_only_where_an_argument_begins(text: str, words: tuple[str, ...]):
    assert split_template_arguments(text) == words


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_any_template_can_be_filled_in(body: str, arguments: list[str]):
    substitute_placeholders(body, arguments)
    if "$" not in body:
        assert substitute_placeholders(body, arguments) == body


def test_templates_are_found_and_the_projects_counts(paths: BayouPaths, put):
    mine = put(paths.agent_dir / "prompts" / "fix.md", "mine")
    put(paths.agent_dir / "prompts" / "sub" / "deep.md", "not found: only direct children")
    put(
        paths.project_dir / "prompts" / "fix.md",
        "---\ndescription: Fixes\nargument-hint: <file>\n---\nFix $1.",
    )
    prompts = find_prompt_templates(paths, is_trusted=True)
    assert [template.name for template in prompts.templates] == ["fix"]
    template = prompts.templates[0]
    assert (template.description, template.argument_hint) == ("Fixes", "<file>")
    assert prompts.expand("/fix a.py") == "Fix a.py."
    assert prompts.expand("/other") is None
    assert str(mine) in prompts.problems[0]
    assert find_prompt_templates(paths, is_trusted=False).expand("/fix") == "mine"


def skill(name: str, description: str = "Does things", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n# How\nSee notes.md.\n"


def test_skills_are_found_in_every_place_and_the_nearest_counts(paths: BayouPaths, put):
    put(paths.project_dir / "skills" / "pdf" / "SKILL.md", skill("pdf", "project"))
    put(paths.cwd / ".agents" / "skills" / "web" / "SKILL.md", skill("web"))
    put(paths.agent_dir / "skills" / "pdf" / "SKILL.md", skill("pdf", "mine"))
    put(paths.home / ".agents" / "skills" / "group" / "git" / "SKILL.md", skill("git"))
    found = find_skills(paths, is_trusted=True)
    assert {one.name: one.description for one in found.skills} == {
        "pdf": "project",
        "web": "Does things",
        "git": "Does things",
    }
    untrusted = find_skills(paths, is_trusted=False)
    assert {one.name for one in untrusted.skills} == {"pdf", "git"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no frontmatter", "needs a block between two --- lines"),
        ("---\nname: x\n", "has no closing"),
        (skill("Bad_Name"), "lower-case"),
        (skill("a" * 65), "at most 64"),
        (skill("ok", "''"), "the description is missing"),
        ("---\ndescription: x\n---\n", "the name is missing"),
        ("---\n- a\n---\n", "must contain"),
    ],
)
def test_an_invalid_skill_is_reported_with_the_reason(paths: BayouPaths, put, text: str, reason: str):
    path = put(paths.agent_dir / "skills" / "Not_A_Name" / "SKILL.md", text)
    found = find_skills(paths, is_trusted=False)
    assert found.skills == ()
    assert reason in found.problems[0]
    assert str(path) in found.problems[0]


@pytest.mark.parametrize(
    ("folder", "said", "name", "is_told"),
    [
        ("my-skill", "my-skill", "my-skill", False),
        ("my-skill", "MySkill", "my-skill", True),
        ("my-skill", "a" * 70, "my-skill", True),
        ("my-skill", "-my-skill", "my-skill", True),
        ("my-skill", "my--skill", "my-skill", True),
        ("my-skill", "my_skill", "my-skill", True),
        ("my-skill", "sc:my skill", "my-skill", True),
        ("wrong-name", "correct-name", "correct-name", True),
        ("技能", "技能", "技能", False),
        ("мой-навык", "мой-навык", "мой-навык", False),
        ("МОЙ-НАВЫК", "МОЙ-НАВЫК", None, True),
        ("café", "cafe\u0301", "café", False),
    ],
)
def test_a_skills_name_is_valid_or_its_folders(
    paths: BayouPaths, put, folder: str, said: str, name: str | None, is_told: bool
):
    put(paths.agent_dir / "skills" / folder / "SKILL.md", skill(said, more="license: MIT\n"))
    found = find_skills(paths, is_trusted=False)
    assert [one.name for one in found.skills] == ([name] if name else [])
    assert bool(found.problems) is is_told
    if name:
        assert [one.name for one in found.skills_mentioned_in(f"use ${name}, please")] == [name]


def test_a_long_description_is_cut_and_told(paths: BayouPaths, put):
    put(paths.agent_dir / "skills" / "ok" / "SKILL.md", skill("ok", "x" * 1030))
    found = find_skills(paths, is_trusted=False)
    assert len(found.skills[0].description) == 1024
    assert "has 1030 characters" in found.problems[0]


def test_a_skill_is_called_with_its_place_and_arguments(paths: BayouPaths, put):
    path = put(
        paths.agent_dir / "skills" / "pdf" / "SKILL.md", skill("pdf", more="disable-model-invocation: true\n")
    )
    found = find_skills(paths, is_trusted=False)
    assert not found.skills[0].is_for_model
    assert found.expand("/skill:pdf page 2") == (
        f'<skill name="pdf" location="{path}">\n'
        f"Relative paths in this skill start at {path.parent}.\n\n# How\nSee notes.md.\n</skill>\n\npage 2"
    )
    assert found.expand("/skill:other") is None


def test_broken_frontmatter_is_read_line_by_line_and_told():
    document = split_frontmatter("---\nname: ok\nbad: [1\nalwaysApply: true\n---\nbody")
    assert document.fields["name"] == "ok"
    assert document.fields["alwaysApply"] is True
    assert document.problem
    assert document.body == "body"


@given(st.text(max_size=80))
def test_nothing_of_a_text_is_lost_between_fields_and_body(text: str):
    assert split_frontmatter(f"\n{text}").body == text.replace("\r\n", "\n").strip()
    document = split_frontmatter(f"---\n{text}\n---\n{text}")
    assert document.body.endswith(text.replace("\r\n", "\n").strip())
    assert document.fields or document.problem or not text.split("---")[0].strip()


def test_ones_own_theme_replaces_a_shipped_one_of_its_name(paths: BayouPaths, put):
    put(paths.themes_dir / "sea.json", "{}")
    put(paths.themes_dir / "system.json", "{}")
    put(paths.themes_dir / "notes.txt", "")
    project = put(paths.project_dir / "themes" / "sea.tcss", "")
    assert find_themes(paths, is_trusted=False).find_theme("sea")
    themes = find_themes(paths, is_trusted=True)
    sea = themes.find_theme("sea")
    assert sea and sea.path == project and sea.source == "project"
    assert "system" in themes.problems[0]
    before = sea.stamp()
    project.write_text("Screen {}")
    assert sea.stamp() != before


def test_skills_of_claude_code_are_read_once_the_project_is_trusted(paths: BayouPaths, put):
    text = "---\nname: {0}\ndescription: About {0}.\n---\nBody."
    put(paths.cwd / ".claude" / "skills" / "theirs" / "SKILL.md", text.format("theirs"))
    put(paths.home / ".claude" / "skills" / "mine" / "SKILL.md", text.format("mine"))
    assert [skill.name for skill in find_skills(paths, is_trusted=True).skills] == ["theirs", "mine"]
    assert [skill.name for skill in find_skills(paths, is_trusted=False).skills] == ["mine"]
    assert [(item.kind, item.path) for item in trust_question_for(paths).items] == [
        ("prompt", ".claude/skills")
    ]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Write it with $notes.", ["notes"]),
        ("$style first, then $notes and $style", ["style", "notes"]),
        ("$notes-more $NOTES \\$notes $$notes a$notes $5 $HOME", []),
    ],
)
def test_a_prompt_names_skills_anywhere(paths: BayouPaths, put, prompt: str, names: list[str]):
    for name in ("notes", "style"):
        text = f"---\nname: {name}\ndescription: About it.\n---\nBody."
        put(paths.agent_dir / "skills" / name / "SKILL.md", text)
    mentioned = find_skills(paths, is_trusted=False).skills_mentioned_in(prompt)
    assert [skill.name for skill in mentioned] == names


def test_each_skill_in_front_of_a_prompt_is_recognised(paths: BayouPaths, put):
    for name in ("notes", "style"):
        text = f"---\nname: {name}\ndescription: About it.\n---\nBody."
        put(paths.agent_dir / "skills" / name / "SKILL.md", text)
    skills = find_skills(paths, is_trusted=False).skills
    prompt = "\n\n".join([*(skill.expand() for skill in skills), "Use $notes and $style."])
    assert [skill.name for skill in parse_sent_skills(prompt)] == ["notes", "style"]
