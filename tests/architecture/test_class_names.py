"""A class has a name of its own: who searches for it finds one thing, wherever in the house they read.

Classes whose names begin with an underscore are read where they stand and may be called alike.
"""

import ast
from collections import defaultdict
from functools import cache

import pytest

from tests.architecture.sources import SHIPPED, files, name, tree

BY_THE_WIRE = "what RPC tells of the thing of that name"
ALLOWED = {
    "BashResult": "what an extension says of a person's command, and RPC of the same",
    "Command": "both are what a person or program calls by its name; the extensions' is part of their API",
    "Context": "what a hook is given, and what the model is to read: extensions are written against both names",
    "ShellSettings": "the same settings: as they stand in the file, and as the tools take them",
    "State": BY_THE_WIRE,
    "Tree": BY_THE_WIRE,
    "TreeNode": f"a node of a tree that is shown; of a session's, {BY_THE_WIRE}",
    "Usage": BY_THE_WIRE,
}
"""Names that stand for one thing in two forms."""


@cache
def named_twice() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in files(*SHIPPED):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name(path))
    return {each: places for each, places in found.items() if len(places) > 1}


def test_a_class_has_a_name_of_its_own():
    found = named_twice()
    new = {each: places for each, places in found.items() if each not in ALLOWED}
    assert new == {}, "Say in each name what it is of."


@pytest.mark.parametrize("each", sorted(ALLOWED))
def test_what_is_allowed_is_there(each: str):
    assert each in named_twice(), "It has a name of its own now: take it off the list."
