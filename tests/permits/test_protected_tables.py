"""The two tables of protected files: every row is asked about by the gate and held by the sandbox's policy."""

from functools import reduce
from operator import add
from pathlib import Path

import pytest

from app.permits.secret_files import autorun_reason, secret_likelihood_of_path
from app.permits.shell_words import ANY_FILE_NAME_MARK
from app.providers.scripted import ScriptedAnswer, call, say
from tests.permits.test_gate import decisions, gated_session, results
from tools.box.guarded_paths_and_sockets import find_guarded_paths
from tools.protected.autorun_files import HOME_AUTORUN_FILES, PROJECT_AUTORUN_FILES, AutorunFile
from tools.protected.credential_tables import (
    BAYOU_FILES_VISIBLE_IN_SANDBOX,
    CREDENTIAL_FILE_NAMES,
    CREDENTIAL_PLACES,
    CredentialFileName,
    CredentialPlace,
)


def below(row: AutorunFile | CredentialPlace) -> str:
    """A path that the row is about."""
    path = row.path.replace("*", "some")
    return f"{path}inside" if row.is_folder else path


def named(row: CredentialFileName) -> str:
    return row.name.replace("*", "some")


def in_answers(*calls: tuple[str, dict[str, str]]) -> tuple[ScriptedAnswer, ...]:
    """Of at most fifty calls each."""
    made = [call(name, **arguments) for name, arguments in calls]
    return tuple(reduce(add, made[start : start + 50]) for start in range(0, len(made), 50))


async def test_no_file_that_runs_later_is_written_unasked_in_auto_edit(tmp_path: Path) -> None:
    paths = [path for row in PROJECT_AUTORUN_FILES for path in (below(row), f"packages/one/{below(row)}")]
    calls = in_answers(*(("write", {"path": path, "content": "x"}) for path in paths))
    harness = gated_session(tmp_path, *calls, say("ok"), asks="none", mode="auto-edit")
    await harness.prompt("go")
    assert [path for path in paths if (harness.session.cwd / path).exists()] == []
    assert len(results(harness)) == len(paths)


async def test_no_place_of_keys_is_read_unasked_in_full(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    paths = [str(home / below(place)) for place in CREDENTIAL_PLACES]
    paths += [str(project / "sub" / named(one)) for one in CREDENTIAL_FILE_NAMES]
    harness = gated_session(
        tmp_path, *in_answers(*(("read", {"path": path}) for path in paths)), say("ok"), asks="none"
    )
    harness.session.permissions.rules.set_mode("full")
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("the content")
    await harness.prompt("go")
    assert [one for one in results(harness) if "the content" in one] == []
    assert len(decisions(harness)) == len(paths)


def test_every_place_of_keys_is_secret_in_any_spelling_of_case() -> None:
    for place in CREDENTIAL_PLACES:
        assert secret_likelihood_of_path(f"/home/me/{below(place)}", "/home/me") == "likely", place
        assert secret_likelihood_of_path(f"/home/me/{below(place).upper()}", "/home/me") == "likely", place


@pytest.mark.parametrize(
    "name",
    [
        *("prod.env", ".ENV", ".Env.Production", ".env~", ".env.bak", "#.env#", "id_rsa.old", ".id_rsa.swp"),
        *("secrets.yaml", "credentials.json.bak", "service-account-prod.json", "site.auto.tfvars"),
        *("terraform.tfstate", "terraform.tfstate.backup", "prod.tfstate.1690.backup", "server.pem.orig"),
    ],
)
def test_variants_and_copies_of_secret_files_are_secret(name: str) -> None:
    assert secret_likelihood_of_path(f"/srv/project/{name}", "/home/me") == "likely"


@pytest.mark.parametrize(
    "name",
    [
        *(".env.example", ".env.sample", ".env.dist", ".env.example.bak", "app.env.sample", "example.env"),
        *("docker.sample.env", "env.py", "environment.ts", "credentials.py", "secrets.py", "id_rsa.pub"),
        *("service-account.example.json", "terraform.tfvars.example", "example.auto.tfvars", "main.tf"),
        *("wp-config-sample.php", "config.yaml", "settings.json", "tfstate.md", "monkey.py", "keys.ts"),
    ],
)
def test_samples_and_ordinary_files_are_no_secrets(name: str) -> None:
    assert secret_likelihood_of_path(f"/srv/project/{name}", "/home/me") == "no"


@pytest.mark.parametrize("pattern", ["*.json", "*.yaml", "*.yml", "*.toml", "s*.yaml", "conf*.php", "k*"])
def test_a_pattern_for_ordinary_files_is_not_meant_for_secrets(pattern: str) -> None:
    path = f"/srv/project/{pattern.replace('*', ANY_FILE_NAME_MARK)}"
    assert secret_likelihood_of_path(path, "/home/me") != "likely"


@pytest.mark.parametrize(
    "pattern", ["*.env", "*.tfstate", "secret*.y*ml", "credential*.json", ".en*", "id_*"]
)
def test_a_pattern_meant_for_secret_files_is_one(pattern: str) -> None:
    path = f"/srv/project/{pattern.replace('*', ANY_FILE_NAME_MARK)}"
    assert secret_likelihood_of_path(path, "/home/me") == "likely"


def test_every_start_up_file_of_the_home_runs_later() -> None:
    for row in HOME_AUTORUN_FILES:
        assert autorun_reason(f"/home/me/{below(row)}", "/home/me") is not None, row


def test_every_row_has_a_source_and_stands_once() -> None:
    rows = [*PROJECT_AUTORUN_FILES, *CREDENTIAL_PLACES]
    assert all(row.source for row in (*rows, *HOME_AUTORUN_FILES, *CREDENTIAL_FILE_NAMES))
    assert all(part.count("*") < 2 and "{" not in part for row in rows for part in row.name.split("/"))
    for table in (PROJECT_AUTORUN_FILES, HOME_AUTORUN_FILES, CREDENTIAL_PLACES, CREDENTIAL_FILE_NAMES):
        assert len({row.name for row in table}) == len(table)


@pytest.mark.parametrize(
    "path",
    [
        "package.json",
        "Makefile",
        ".github/workflows/ci.yml",
        ".claude/CLAUDE.md",
        "weights/model.pth",
        "mise/readme.md",
        ".config/app.toml",
        "docs/.codex/notes.md",
        "lefthook.yml.md",
        "mise.md",
        "mise.toml.md",
        "docs/.moon/notes.md",
        *(
            ".turbo/config.json",
            ".next/server/hooks.js",
            ".pytest_cache/v/cache/lastfailed",
            ".venv/pyvenv.cfg",
        ),
        *(
            ".storybook/main.ts",
            ".changeset/config.json",
            ".github/ISSUE_TEMPLATE/bug.yml",
            ".prettierrc.json",
        ),
        *("src/hooks/use.ts", "settings.json", "tests/data/.hooks.json.md"),
        ".github/workflows/hooks.yml",
    ],
)
def test_ordinary_files_of_a_project_do_not_run_later(path: str) -> None:
    assert autorun_reason(f"/srv/project/{path}", "/home/me") is None


@pytest.mark.parametrize(
    "path",
    [
        *("mise.production.toml", ".mise.ci.local.toml", "mise/config.ci.toml", ".config/mise.ci.toml"),
        *(".lite_project.lua", ".lintstagedrc.cjs", "sub/commitlint.config.ts", ".huskyrc.json"),
        *("sub/.bsp/sbt.json", ".lsp/config.edn", ".tool-versions", ".vibe/tools/a.py", "bin/hermit.hcl"),
        *(".newagent/settings.json", ".newagent/hooks/stop.sh", "packages/a/.newagent/mcp.json"),
        *(".neweditor/tasks.json", ".newagent/plugins/a/main.js", ".buildkite/hooks/environment"),
        *(".VIM/coc-settings.json", "a/b/.pnp.cjs", "Rust-Toolchain.toml", ".github/hooks/x.json"),
    ],
)
def test_a_name_with_any_middle_or_case_runs_later(path: str) -> None:
    assert autorun_reason(f"/home/me/project/{path}", "/home/me") is not None


def test_commands_may_change_what_package_managers_generate() -> None:
    generated = [row.name for row in PROJECT_AUTORUN_FILES if row.is_generated]
    assert ".pnp.cjs" in generated
    _, missing = find_guarded_paths("/no/project")
    assert not {f"/no/project/{name}" for name in generated} & set(missing)


@pytest.mark.parametrize(
    "path",
    ["sessions/a.jsonl", "blobs/ab/abc", "mcp-auth.json", "mcp.json", "models.json", "history/x", "*.json"],
)
def test_everything_in_bayous_own_folder_is_secret(path: str) -> None:
    path = path.replace("*", "\ue001")
    assert secret_likelihood_of_path(f"/home/me/own/{path}", "/home/me", ("/home/me/own",)) == "likely"


def test_what_a_person_put_into_bayous_folder_to_be_read_is_not() -> None:
    for name in BAYOU_FILES_VISIBLE_IN_SANDBOX:
        assert secret_likelihood_of_path(f"/home/me/own/{name}", "/home/me", ("/home/me/own",)) == "no"
