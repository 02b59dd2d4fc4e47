"""Which servers there are: files in their order, what overrides what, and every broken kind in words at its place."""

import json

import pytest

from app.mcp.server_config import ProvidedMcpServer, merge_configured_mcp_servers
from app.mcp.server_config_entries import decode_mcp_server_entry
from app.resources.mcp_server_files import project_mcp_server_files, user_mcp_servers_file
from app.resources.paths import BayouPaths


def written(**servers) -> str:
    return json.dumps({"mcpServers": servers})


def test_the_last_file_wins_by_name_and_an_entry_without_a_way_overrides(paths: BayouPaths, put):
    plain, dotted, own = project_mcp_server_files(paths)
    put(user_mcp_servers_file(paths), written(docs={"command": "a"}, time={"command": "t"}))
    put(plain, written(docs={"command": "b"}, files={"command": "f", "tools": {"read_*": "direct"}}))
    put(dotted, written(docs={"url": "https://docs.example/mcp"}))
    put(own, written(files={"exposure": "direct", "tools": {"delete_*": "hidden"}}, time={"enabled": False}))
    found = merge_configured_mcp_servers(
        paths,
        is_trusted=True,
        given=[ProvidedMcpServer("editor", {"command": "e"}, "client"), ProvidedMcpServer("x", {})],
    )
    docs, editor, files, time, x = found.servers
    assert (docs.url, docs.command, docs.file, docs.type) == (
        "https://docs.example/mcp",
        None,
        dotted,
        "http",
    )
    assert (files.command, files.exposure, files.file) == ("f", "direct", plain)
    assert files.configured_exposure_of("delete_all") == "hidden"
    assert files.configured_exposure_of("read_me") == "direct"
    assert (time.enabled, time.origin) == (False, "user")
    assert editor.origin == "client"
    assert "neither `command` nor `url`" in x.problem


def test_the_persons_own_word_about_a_projects_server_counts_last(paths: BayouPaths, put):
    own = project_mcp_server_files(paths)[2]
    put(user_mcp_servers_file(paths), written(docs={"enabled": False}, elsewhere={"exposure": "hidden"}))
    put(own, written(docs={"command": "d", "enabled": True}))
    found = merge_configured_mcp_servers(paths, is_trusted=True)
    assert [(each.name, each.enabled) for each in found.servers] == [("docs", False)]
    assert found.problems == ()


def test_names_that_differ_in_dashes_are_one(paths: BayouPaths, put):
    put(
        user_mcp_servers_file(paths),
        '{"mcpServers": {\n"my-docs": {"command": "a"},\n"my_docs": {"command": "b"}}}',
    )
    found = merge_configured_mcp_servers(paths, is_trusted=False)
    assert [each.command for each in found.servers] == ["b"]
    assert 'mcp.json:3: server "my_docs": is the same as "my-docs" above' in str(found.problems[0])
    assert found.find_server("my-docs") == found.find_server("my_docs")


def test_nothing_of_a_project_counts_without_trust_not_even_what_is_wrong_in_it(paths: BayouPaths, put):
    plain, dotted, own = project_mcp_server_files(paths)
    put(user_mcp_servers_file(paths), written(mine={"command": "m"}))
    put(plain, written(theirs={"command": "evil"}))
    put(dotted, written(mine={"command": "evil"}, **{"bad name": {"command": "x"}}))
    put(own, written(mine={"enabled": False, "exposure": "wrong"}))
    found = merge_configured_mcp_servers(paths, is_trusted=False)
    assert [(each.name, each.command, each.enabled) for each in found.servers] == [("mine", "m", True)]
    assert [each.name for each in found.untrusted] == ["bad name", "theirs"]
    assert found.problems == ()


def test_a_file_that_leads_out_of_the_project_is_not_read(paths: BayouPaths, put, tmp_path):
    put(tmp_path / "elsewhere.json", written(theirs={"command": "x"}))
    (paths.cwd / ".mcp.json").symlink_to(tmp_path / "elsewhere.json")
    found = merge_configured_mcp_servers(paths, is_trusted=True)
    assert found.servers == ()
    assert "is a link out of" in str(found.problems[0])


def test_other_programs_words_are_read(paths: BayouPaths):
    server, problems = decode_mcp_server_entry(
        "x",
        {
            "url": "https://x.example",
            "type": "streamable-http",
            "disabled": True,
            "timeout": 60000,
            "toolExposure": {"a": "codemode", "b": "deferred"},
            "alwaysAllow": ["a"],
            "tools": ["*"],
        },
        origin="user",
    )
    assert problems == ()
    assert (server.type, server.enabled, server.timeout) == ("http", False, 60.0)
    assert server.tools == {"a": "search", "b": "search"}
    assert decode_mcp_server_entry("x", {"command": "/usr/bin/npx"}, origin="user")[0].start_timeout == 60
    assert decode_mcp_server_entry("x", {"command": "x"}, origin="user")[0].start_timeout == 30


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("npx thing", "a server must be an object"),
        ([], "a server must be an object"),
        (None, "a server must be an object"),
        ({"command": ["npx", "-y"]}, "`command` is one program"),
        ({"command": "x", "args": "-y thing"}, "`args` must be a list of texts"),
        ({"command": "x", "args": [["y"]]}, "`args` must be a list of texts"),
        ({"command": "x", "args": ["a\0b"]}, "`args` must be a list of texts"),
        ({"command": "x", "env": ["A=1"]}, "`env` must be an object"),
        ({"command": "x", "env": {"A": {}}}, "`env.A` must be a text"),
        ({"command": "x", "env": {"A=B": "1"}}, "is not a valid name"),
        ({"url": ["https://x.example"]}, "`url` must be a text"),
        ({"command": "x", "url": "https://y.example"}, "both `command` and `url`"),
        ({"url": "docs.example/mcp"}, "must be an address"),
        ({"url": "ftp://docs.example"}, "must be an address"),
        ({"url": "https://a b"}, "must be an address"),
        ({"url": "https://[::1"}, "`url` is no address"),
        ({"url": "https://x.example:99999999"}, "`url` is no address"),
        ({"url": "https://x.example", "headers": {"A B": "1"}}, "is not a valid name"),
        ({"url": "https://x.example", "headers": {"A": None}}, "`headers.A` must be a text"),
        ({"url": "https://x.example", "type": "stdio"}, "needs `command`"),
        ({"command": "x", "type": "http"}, "needs `url`"),
        ({"command": "x", "type": "carrier pigeon"}, "`type` is one of"),
        ({"command": "x", "exposure": "hiden"}, "`exposure` must be one of"),
        ({"command": "x", "tools": ["a"]}, "`tools` must be an object"),
        ({"command": "x", "tools": {"a": True}}, "`tools.a` must be one of"),
        ({"command": "x", "enabled": "yes"}, "`enabled` must be true or false"),
        ({"command": "x", "timeout": 0}, "`timeout` must be a number of seconds"),
        ({"command": "x", "startTimeout": "1m"}, "`startTimeout` must be a number of seconds"),
        ({"url": "https://x.example", "oauth": "yes"}, "`oauth` must be an object"),
        ({"url": "https://x.example", "oauth": {"clientId": 5}}, "`oauth.clientId` must be a text"),
        ({"url": "https://x.example", "oauth": {"callbackPort": 99999}}, "must be a port"),
    ],
)
def test_a_broken_entry_says_what_is_wrong_and_the_others_count(paths: BayouPaths, put, entry, words):
    put(
        user_mcp_servers_file(paths),
        '{"mcpServers": {\n"sound": {"command": "s"},\n"broken": ' + json.dumps(entry) + "}}",
    )
    found = merge_configured_mcp_servers(paths, is_trusted=False)
    broken, sound = found.servers
    assert sound.problem == ""
    assert words in broken.problem
    assert f'mcp.json:3: server "broken": {broken.problem}.' in "\n".join(map(str, found.problems))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "mcp.json:1: column"),
        ("[]", "mcp.json:1: must be an object"),
        ('{"mcpServers": []}', "mcp.json:1: `mcpServers` must be an object"),
        ('{"servers": {"x": {}}}', "but the file has `servers`: rename the key"),
        ("\udcff", "not UTF-8 text"),
        (
            '{"mcpServers": {"a\u001b[31m b": {"command": "x"}}}'.replace("\u001b", "\\u001b"),
            "is not a valid server name",
        ),
        ('{"mcpServers": {"x": {"command": "x", "exposre": "direct"}}}', "Did you mean `exposure`?"),
        ('{"mcpServers": {"x": {"url": "https://x.example", "type": "sse"}}}', "which is deprecated"),
        ('{"mcpServers": {"x": {"comand": "x"}}}', "neither `command` nor `url`"),
    ],
)
def test_a_broken_file_is_reported_and_nothing_is_raised(paths: BayouPaths, text, words):
    file = user_mcp_servers_file(paths)
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    told = "\n".join(map(str, merge_configured_mcp_servers(paths, is_trusted=True).problems))
    assert words in told
    assert "\x1b" not in told


def test_a_file_without_servers_is_ignored(paths: BayouPaths, put):
    put(paths.cwd / "mcp.json", '{"name": "a package that is a server"}')
    assert merge_configured_mcp_servers(paths, is_trusted=True).problems == ()
