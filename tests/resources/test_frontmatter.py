"""Plain blocks are read without YAML, and as YAML reads them."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.resources import frontmatter
from app.resources.frontmatter import split_frontmatter

LINES = st.lists(
    st.tuples(
        st.sampled_from(["name", "description", "on", "allowed-tools", "a_b", "1", " x"]),
        st.sampled_from([": ", ":", ":  "]),
        st.one_of(
            st.sampled_from(
                ["Yes", "null", "word", "a: b", "a #b", "a:b", "'q'", "[x]", "e1", "True story.", "x:", "~"]
            ),
            st.text("ab:# -'\"[]{},&*!|>%@`.?0\t\u00e9", max_size=12),
        ),
    ),
    max_size=4,
)


@given(LINES)
def test_what_is_plain_means_what_yaml_says(lines: list[tuple[str, str, str]]):
    block = "\n".join("".join(parts) for parts in lines)
    plain = frontmatter._parse_plain_lines(block)
    if plain is not None and block:
        assert plain == {str(key): value for key, value in yaml.safe_load(block).items()}


def test_a_usual_block_is_plain():
    text = "---\nname: knots\ndescription: Ties knots (all of them), with care; don't hurry.\n---\nTie.\n"
    assert frontmatter._parse_plain_lines(text.split("---\n")[1].strip()) == {
        "name": "knots",
        "description": "Ties knots (all of them), with care; don't hurry.",
    }
    assert split_frontmatter(text).body == "Tie."


def test_the_skill_that_bayou_brings_costs_no_parser():
    program = (
        "import sys\nfrom pathlib import Path\nfrom app.resources.frontmatter import split_frontmatter\n"
        "found = list(Path('docs').rglob('SKILL.md'))\nassert found\n"
        "for path in found:\n    assert split_frontmatter(path.read_text()).fields\n"
        "assert 'yaml' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=60)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: Ties knots: then reports", "Ties knots: then reports"),
        ("argument-hint: [file] [--all]", "[file] [--all]"),
        ("description: **Bold**: words", "**Bold**: words"),
        ("description: 'A' or 'B'", "'A' or 'B'"),
    ],
)
def test_text_that_other_agents_accept_is_text_without_a_fault(line: str, value: str):
    read = split_frontmatter(f"---\nname: knots\n{line}\n# a comment\n---\nTie.")
    assert read.fields == {"name": "knots", line.partition(":")[0]: value}
    assert read.problem == ""


@pytest.mark.parametrize(
    "line", ["tools: [a, b", 'description: "open', "x: a: b\n\n<example>", "x: &a: b: c"]
)
def test_a_block_that_is_left_open_has_a_fault(line: str):
    read = split_frontmatter(f"---\nname: knots\n{line}\n---\nTie.")
    assert read.fields["name"] == "knots" and read.problem
