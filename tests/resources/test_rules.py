"""Rules: found in order of rank, sorted into buckets, read on demand, matched while an answer streams."""

import sys

import pytest

from app.resources.paths import BayouPaths
from app.resources.rules import rule_patterns
from app.resources.rules.rule_files import AgentRule, AgentRules, UnknownAgentRule, find_agent_rules
from app.resources.rules.rule_scopes import (
    RuleScope,
    parse_rule_scopes,
    path_matches_glob,
    rule_scopes_of_glob,
)
from app.resources.rules.rule_watch import RuleViolationWatcher, rule_interruption_text
from app.values.stream import TextDelta, TextStart, ThinkingDelta, ToolCallDelta, ToolCallStart


def rule(fields: str = "", body: str = "Be good.") -> str:
    return f"---\n{fields}\n---\n{body}\n"


def by_name(rules: AgentRules) -> dict[str, AgentRule]:
    return {one.name: one for one in rules.rules}


def test_sources_have_a_rank_and_later_ones_of_a_name_are_kept_as_shadowed(paths: BayouPaths, put):
    put(paths.project_dir / "rules" / "style.md", rule("description: native"))
    put(paths.agent_dir / "rules" / "mine.mdc", rule("description: mine"))
    put(paths.home / ".cursor" / "rules" / "style.mdc", rule("description: cursor at home"))
    put(paths.cwd / ".cursor" / "rules" / "c.mdc", rule("alwaysApply: true"))
    put(paths.home / ".codeium" / "windsurf" / "memories" / "global_rules.md", "Everywhere.")
    put(paths.cwd / ".windsurf" / "rules" / "w.md", rule("description: w"))
    put(paths.cwd / ".clinerules", "From Cline.")
    rules = find_agent_rules(paths, is_trusted=True)
    assert list(by_name(rules)) == ["style", "mine", "c", "global_rules", "w", "clinerules"]
    assert by_name(rules)["style"].description == "native"
    assert [one.description for one in rules.shadowed] == ["cursor at home"]
    assert "style" in by_name(find_agent_rules(paths, is_trusted=True))
    assert by_name(find_agent_rules(paths, is_trusted=False))["style"].source == "cursor"
    assert list(by_name(find_agent_rules(paths, is_trusted=True, sources=("cline",)))) == ["clinerules"]


def test_the_nearest_clinerules_counts_and_may_be_a_folder(paths: BayouPaths, put):
    put(paths.cwd.parent / ".clinerules", "above")
    put(paths.cwd / ".clinerules" / "one.md", "first")
    put(paths.cwd / ".clinerules" / "two.md", "second")
    assert [one.name for one in find_agent_rules(paths, is_trusted=True).rules] == ["one", "two"]


@pytest.mark.parametrize(
    ("fields", "bucket"),
    [
        ("condition: TODO\nalwaysApply: true\ndescription: d", "conditional"),
        ("alwaysApply: true\ndescription: d", "always"),
        ("alwaysApply: 'true'\ndescription: d", "rulebook"),
        ("description: d", "rulebook"),
        ("globs: '*.py'", "rulebook"),
        ("condition: '['\ndescription: d", "rulebook"),
        ("ttsr_trigger: X", "conditional"),
        ("ttsrTrigger: X", "conditional"),
    ],
)
def test_buckets(paths: BayouPaths, put, fields: str, bucket: str):
    put(paths.agent_dir / "rules" / "r.md", rule(fields))
    assert find_agent_rules(paths, is_trusted=False).rules[0].activation == bucket


def test_globs_are_a_list_or_a_text(paths: BayouPaths, put):
    put(paths.cwd / ".cursor" / "rules" / "a.mdc", rule("globs: [ '*.py', 3, 'x/*.ts' ]\ndescription: d"))
    put(paths.cwd / ".cursor" / "rules" / "b.mdc", rule("globs: '*.py, *.ts'\ndescription: d"))
    rules = by_name(find_agent_rules(paths, is_trusted=True))
    assert rules["a"].globs == ("*.py", "x/*.ts")
    assert rules["b"].globs == ("*.py", "*.ts")


def test_a_rule_is_read_by_its_name_without_its_frontmatter(paths: BayouPaths, put):
    put(paths.agent_dir / "rules" / "api.md", rule("description: d", "Use nouns."))
    put(paths.agent_dir / "rules" / "lost.md", rule("scope: text"))
    rules = find_agent_rules(paths, is_trusted=False)
    assert rules.rule_text("api") == "Use nouns."
    with pytest.raises(UnknownAgentRule, match="Unknown rule: lost\nAvailable: api"):
        rules.rule_text("lost")
    with pytest.raises(UnknownAgentRule, match="Available: none"):
        AgentRules().rule_text("x")


def test_broken_frontmatter_and_conditions_are_told(paths: BayouPaths, put):
    put(paths.agent_dir / "rules" / "a.md", "---\ndescription: x\nbad: [\n---\nbody")
    put(paths.agent_dir / "rules" / "b.md", rule("condition: '('"))
    rules = find_agent_rules(paths, is_trusted=False)
    assert by_name(rules)["a"].description == "x"
    assert len(rules.problems) == 2
    assert "not a regular expression" in rules.problems[1]


def test_without_the_engine_a_rule_with_a_condition_is_left_out_and_told(
    paths: BayouPaths, put, monkeypatch: pytest.MonkeyPatch
):
    """It would stand in the prompt as one that always applies."""
    put(paths.agent_dir / "rules" / "a.md", rule("condition: 'never ever'\nalwaysApply: true"))
    put(paths.agent_dir / "rules" / "b.md", rule("alwaysApply: true"))
    rule_patterns._compile_pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "regex", None)
    rules = find_agent_rules(paths, is_trusted=False)
    assert list(by_name(rules)) == ["b"]
    assert (
        "the rule a is ignored" in rules.problems[0] and "the library regex is missing" in rules.problems[0]
    )


def test_a_condition_that_is_a_glob_means_edits_and_writes_of_such_files():
    assert rule_scopes_of_glob("src/**/*.py") == (
        RuleScope(part="tool", tool="edit", glob="src/**/*.py"),
        RuleScope(part="tool", tool="write", glob="src/**/*.py"),
    )
    for regex in (r"\bTODO\b", "a.*b", "foo|bar", "plain", "x?"):
        assert rule_scopes_of_glob(regex) == ()


def test_scope_tokens():
    assert parse_rule_scopes('text, toolcall, tool:edit("*.{ts,tsx}"), nonsense') == (
        RuleScope(part="text"),
        RuleScope(part="tool"),
        RuleScope(part="tool", tool="edit", glob="*.{ts,tsx}"),
    )


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        ("a/b/c.py", "*.py", True),
        ("src/x/y.py", "src/**/*.py", True),
        ("src/y.py", "src/**/*.py", True),
        ("/home/ann/p/src/y.py", "src/**/*.py", True),
        ("lib/y.py", "src/**/*.py", False),
        ("a/b.ts", "a/*.{ts,tsx}", True),
        ("a/b/c.ts", "a/*.ts", False),
        ("f1.c", "f[0-9].c", True),
    ],
)
def test_globs(path: str, glob: str, fits: bool):
    assert path_matches_glob(path, glob) is fits


def conditional(paths: BayouPaths, put, fields: str) -> AgentRule:
    put(paths.agent_dir / "rules" / "no-todo.md", rule(fields, "Leave no notes behind."))
    return find_agent_rules(paths, is_trusted=False).rules[0]


def test_a_stream_that_breaks_a_rule_is_noticed_across_its_pieces(paths: BayouPaths, put):
    watch = RuleViolationWatcher([conditional(paths, put, "condition: 'FIX' ")])
    watch.begin_answer("1")
    assert watch.search_delta(0, "thinking", "FIX") is None  # not looked at unless asked for
    assert watch.search_delta(1, "text", "Now F") is None
    hit = watch.search_delta(1, "text", "IX it")
    assert hit and hit.interrupts and hit.matched == "FIX"
    assert "Leave no notes behind." in rule_interruption_text(hit)


def test_a_rule_interrupts_once_per_gap(paths: BayouPaths, put):
    watch = RuleViolationWatcher([conditional(paths, put, "condition: BAD")], repeat_gap_turns=2)
    hits = []
    for turn in range(5):
        watch.begin_answer(str(turn))
        hits.append(watch.search_delta(0, "text", "BAD BAD") is not None)
    assert hits == [True, False, True, False, True]
    once = RuleViolationWatcher([conditional(paths, put, "condition: BAD")])
    hits = []
    for turn in range(3):
        once.begin_answer(str(turn))
        hits.append(once.search_delta(0, "text", "BAD") is not None)
    assert hits == [True, False, False]


def test_scopes_and_interrupt_modes_hold(paths: BayouPaths, put):
    fields = "condition: 'src/*.py'\ninterruptMode: prose-only"
    watch = RuleViolationWatcher([conditional(paths, put, fields)])
    watch.begin_answer("1")
    assert watch.search_delta(0, "text", "anything") is None
    assert watch.search_delta(1, "tool", "x", tool="bash", path="src/a.py") is None
    hit = watch.search_delta(2, "tool", "x", tool="edit", path="src/a.py")
    assert hit and not hit.interrupts


def test_an_answers_stream_is_heard_event_by_event(paths: BayouPaths, put):
    watch = RuleViolationWatcher(
        [conditional(paths, put, "condition: BAD\nscope: text, tool:edit(src/*.py), thinking")]
    )
    watch.begin_answer("1")
    assert watch.search_event(TextStart(content_index=0)) is None
    assert watch.search_event(TextDelta(content_index=0, delta="fine")) is None
    assert watch.search_event(ToolCallStart(content_index=1, id="c", tool_name="edit")) is None
    assert (
        watch.search_event(ToolCallDelta(content_index=1, delta='{"path": "lib/a.py", "newText": "BAD"}'))
        is None
    )
    watch.search_event(ToolCallStart(content_index=2, id="d", tool_name="edit"))
    pieces = ['{"pa', 'th": "src', '/a.py", "newText": "B', 'AD"}']
    hits = [watch.search_event(ToolCallDelta(content_index=2, delta=piece)) for piece in pieces]
    assert [hit is not None for hit in hits] == [False, False, False, True]
    other = RuleViolationWatcher([conditional(paths, put, "condition: BAD\nscope: thinking")])
    other.begin_answer("1")
    assert other.search_event(ThinkingDelta(content_index=0, delta="BAD")) is not None


def test_rules_for_the_prompt(paths: BayouPaths, put):
    put(paths.agent_dir / "rules" / "a.md", rule("alwaysApply: true", "Always."))
    put(paths.agent_dir / "rules" / "b.md", rule("description: On demand\nglobs: '*.py'"))
    always, rulebook = find_agent_rules(paths, is_trusted=False).prompt_rules()
    assert always == (("a", "Always."),)
    assert [(line.name, line.description, line.globs) for line in rulebook] == [("b", "On demand", ("*.py",))]


def test_a_glob_that_is_never_closed_is_named_and_the_rule_stands(paths: BayouPaths, put):
    put(
        paths.agent_dir / "rules" / "a.md",
        rule("description: d\nglobs:\n  - '[*.py'\n  - 'src/{a,b'\n  - '*.[ch]'"),
    )
    rules = find_agent_rules(paths, is_trusted=False)
    assert [problem.partition(": ")[2] for problem in rules.problems] == [
        "the glob '[*.py' has an unclosed [, so it is matched literally",
        "the glob 'src/{a,b' has an unclosed {, so it is matched literally",
    ]
    assert by_name(rules)["a"].globs[2] == "*.[ch]" and not path_matches_glob("x.py", "[*.py")
