"""Caches: commands have their own for each project, and cannot write the user's."""

import os
import pwd
import shutil
import time
from pathlib import Path

import pytest

from app.engine.sandbox.project_caches import SandboxProjectCaches
from tests.box.boxed_commands import BoxedCommands
from tests.box.test_confined import Boxed
from tests.box.users import USERS, User, boxed_user
from tools.box.sandbox_instructions import ConfinementMethod
from tools.box.sandbox_policy import SandboxPolicy
from tools.protected.user_caches import PACKAGE_STORES, USER_CACHES
from tools.running.running_command import CommandOutcome

STEPS: tuple[ConfinementMethod, ...] = ("namespaces", "landlock")
RUN_LATER = (
    *(".cache/p10k-instant-prompt-ada.zsh", ".cache/zsh4humans/v5/z4h.zsh", ".cache/dein/state_nvim.vim"),
    *(".cache/pip/wheels/x.whl", ".cache/black/24/cache.pickle", ".cache/pre-commit/repo/bin/hook"),
    *(".cargo/config.toml", ".cargo/registry/src/x/build.rs", ".npm/_npx/1/x.js", ".m2/toolchains.xml"),
    *(".m2/repository/a/a.jar", ".gradle/init.gradle", ".gradle/caches/jars-9/a.jar", "go/pkg/mod/a/a.go"),
    *(".mix/rebar3", ".config/matplotlib/matplotlibrc", ".local/share/virtualenvs/a/bin/python"),
    *(".local/share/pnpm/store/v10/files/00/a", ".local/state/nvim/x.lua", "Library/Caches/antidote/a.zsh"),
)


@pytest.mark.parametrize("step", STEPS)
async def test_no_cache_of_the_user_can_be_written(boxed: Boxed, home: Path, step: ConfinementMethod) -> None:
    for name in RUN_LATER[::2]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("old")
    commands = (f"mkdir -p $(dirname ~/{name}); echo evil > ~/{name}" for name in RUN_LATER)
    await boxed(step).outcome("; ".join(commands))
    assert {(home / name).read_text() for name in RUN_LATER[::2]} == {"old"}
    assert [name for name in RUN_LATER[1::2] if (home / name).exists()] == []


@pytest.mark.parametrize("step", STEPS)
async def test_all_tools_find_caches_of_the_project(
    boxed: Boxed, home: Path, project: Path, step: ConfinementMethod
) -> None:
    hands = boxed(step)
    said = await hands.text("env")
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    folder = Path(values["XDG_CACHE_HOME"])
    assert folder.parent == home / ".cache/bayou-box" and folder.stat().st_mode & 0o777 == 0o700
    assert all(str(folder) in values[cache.environment_variable] for cache in USER_CACHES)
    assert await hands.code('mkdir -p "$CARGO_HOME" && echo kept > "$CARGO_HOME/x"') == 0
    again = BoxedCommands(home, project, step)
    other = BoxedCommands(home, home / "other", step)
    (home / "other").mkdir()
    try:
        assert await again.text('cat "$CARGO_HOME/x"') == "kept\n"
        assert await other.code(f'test ! -e "$CARGO_HOME/x" && echo evil > {folder}/cargo/x') != 0
    finally:
        again.close()
        other.close()
    assert (folder / "cargo/x").read_text() == "kept\n"


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_home", [False, True])
async def test_what_a_server_runs_from_its_caches_is_written_by_no_command_and_no_other_server(
    boxed: Boxed, home: Path, step: ConfinementMethod, is_home: bool
) -> None:
    if is_home and step == "landlock":
        pytest.skip("what is in the home cannot be protected, only named")
    hands = boxed(step)
    if is_home:
        hands.workspace.cwd = home
    box_for_call = hands.workspace.box_for_call

    async def runs_as(server: str, command: str) -> CommandOutcome:
        box = await hands.boxes.box_for_server(server)

        async def box_of_server(call_id: str, *, lasts: bool = False) -> SandboxPolicy | None:
            return box

        hands.workspace.box_for_call = box_of_server if server else box_for_call
        return await hands.outcome(command)

    path = "$npm_config_cache/_npx/server.js"
    made = await runs_as(
        "user github", f"mkdir -p ${{npm_config_cache}}/_npx && echo own > {path} && echo {path}"
    )
    server = made.output.text.strip()
    assert server.startswith(f"{home}/.cache/bayou-box/") is not is_home and server.endswith("/server.js")
    for other in ("", "project github"):
        said = await runs_as(other, f"echo evil > {server}; echo evil > {path}; echo {path}")
        assert said.output.text.split()[-1] != server
    assert Path(server).read_text() == "own\n"
    assert (await runs_as("user github", f"cat {path}")).output.text == "own\n"


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_pip_and_npm_use_them(boxed: Boxed, home: Path) -> None:
    said = await boxed().text("python3 -m pip cache dir; npm config get cache")
    assert [Path(line).name for line in said.split()[-2:]] == ["pip", "npm"]
    assert said.count(f"{home}/.cache/bayou-box/") == 2


@pytest.mark.parametrize("step", STEPS)
async def test_downloads_of_the_user_are_there_and_stay_as_they_are(
    boxed: Boxed, home: Path, step: ConfinementMethod
) -> None:
    model = home / ".cache/huggingface/hub/models--a/snapshots/1/config.json"
    crate = home / ".cargo/registry/cache/index.crates.io-1/a-1.0.0.crate"
    index = home / ".cargo/registry/index/index.crates.io-1/.cache/se/rd/serde"
    jar = home / ".m2/repository/org/a/a/1/a-1.jar"
    for path in (model, crate, index, jar):
        path.parent.mkdir(parents=True)
        path.write_text("old\n")
    hands = boxed(step)
    places = {
        model: "$XDG_CACHE_HOME/huggingface/hub/models--a/snapshots/1/config.json",
        crate: "$CARGO_HOME/registry/cache/index.crates.io-1/a-1.0.0.crate",
        index: "$CARGO_HOME/registry/index/index.crates.io-1/.cache/se/rd/serde",
        jar: "$XDG_CACHE_HOME/maven/org/a/a/1/a-1.jar",
    }
    assert await hands.text("cat " + " ".join(places.values())) == "old\n" * 4
    await hands.outcome("; ".join(f"echo evil > {place}" for place in places.values()))
    assert {path.read_text() for path in places} == {"old\n"}
    (home / ".cache/huggingface/hub/models--b").mkdir()
    assert "models--b" in await hands.text("ls $XDG_CACHE_HOME/huggingface/hub")
    assert await hands.code("mkdir $XDG_CACHE_HOME/huggingface/hub/models--c") == 0


async def test_no_link_of_a_command_is_followed_where_downloads_are_linked(
    boxed: Boxed, home: Path, project: Path
) -> None:
    (home / ".config").mkdir()
    (home / ".cache/pre-commit").mkdir()
    (home / ".cache/pre-commit/db.db").symlink_to(home / ".ssh/id_ed25519")
    await boxed().outcome("cd $XDG_CACHE_HOME && ln -s ~/.config huggingface && ln -s ~/.config cargo")
    (home / ".cache/huggingface/hub/models--a").mkdir(parents=True)
    (home / ".cargo/registry/index/i/.cache/a/b").mkdir(parents=True)
    (home / ".cargo/registry/index/i/.cache/a/b/c").write_text("x")
    text = await boxed().text("ls $XDG_CACHE_HOME; cat $XDG_CACHE_HOME/pre-commit/db.db")
    assert "huggingface" in text and "a key" not in text
    assert list((home / ".config").iterdir()) == []


@pytest.mark.parametrize("step", STEPS)
async def test_with_the_home_as_workspace_they_last_as_long_as_the_session(
    boxed: Boxed, home: Path, step: ConfinementMethod
) -> None:
    (home / ".cargo/registry").mkdir(parents=True)
    (home / ".local/share/pnpm/store").mkdir(parents=True)
    hands = boxed(step)
    hands.workspace.cwd = home
    said = await hands.text('cd "$XDG_CACHE_HOME" && touch works && pwd && echo "$TMPDIR"')
    assert said.split()[0] == said.split()[1] + "/caches"
    places = (".cache", ".cargo/registry", ".local/share/pnpm/store")
    writes = (f"echo evil > {place}/evil" for place in places)
    outcome = await hands.outcome("; ".join(("mv .local moved", *writes)))
    if step == "landlock":
        assert {Path(path).name for path in outcome.new_autorun_files} == {"evil", "store"}
    else:
        assert not (home / "moved").exists() and list(home.rglob("evil")) == []


async def test_with_the_home_as_workspace_a_cache_that_was_not_there_is_moved_away(
    boxed: Boxed, home: Path
) -> None:
    hands = boxed()
    hands.workspace.cwd = home
    outcome = await hands.outcome("mkdir -p .m2/repository/a .npm/_npx; echo evil > .npm/_npx/x; echo x > x")
    assert {one.path for one in outcome.moved_autorun_files} == {f"{home}/.m2/repository", f"{home}/.npm"}
    assert (home / "x").exists() and not (home / ".npm").exists()


async def test_settings_of_cargo_count_for_projects_outside_the_home(boxed: Boxed, home: Path) -> None:
    (home / ".cargo").mkdir()
    for name in ("config.toml", "credentials.toml"):
        (home / ".cargo" / name).write_text("[term]\n")
    (home.parent / "other").mkdir()
    hands = boxed()
    assert (await hands.text("ls $CARGO_HOME")).split() == ["credentials.toml"]
    assert "term" not in await hands.text("cat $CARGO_HOME/credentials.toml")
    hands.let_run("p", shown_paths=frozenset({"~/.cargo/credentials.toml"}))
    assert "term" in await hands.text("cat $CARGO_HOME/credentials.toml", "p")
    hands.workspace.cwd = home.parent / "other"
    assert (await hands.text("ls $CARGO_HOME")).split() == ["config.toml", "credentials.toml"]


async def test_a_cache_that_commands_may_write_is_used_itself(
    boxed: Boxed, home: Path, project: Path
) -> None:
    (home / ".cargo").mkdir()
    (project / ".uv").mkdir()
    hands = boxed()
    hands.effective_settings.set("sandbox.write", ["~/.cargo"])
    assert await hands.code('test -z "$CARGO_HOME" && echo x > ~/.cargo/x') == 0
    hands.let_run("w", writable=frozenset({"~/.npm"}))
    (home / ".npm").mkdir()
    assert await hands.code('test -z "$npm_config_cache" && echo x > ~/.npm/x', "w") == 0


async def test_a_cache_in_the_workspace_is_used_itself(
    boxed: Boxed, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", f"{project}/.uv")
    assert await boxed().text('mkdir -p "$UV_CACHE_DIR" && echo "$UV_CACHE_DIR"') == f"{project}/.uv\n"


def test_a_whole_cache_is_allowed_with_a_typed_word_only(boxed: Boxed, home: Path) -> None:
    (home / ".cache/puppeteer").mkdir()
    (home / ".cargo").mkdir()
    boxes = boxed().boxes
    for place, danger in {
        "~/.cache/puppeteer/chrome": "", "~/.cache/new/x": "your programs run", "~/.cargo/x": "your programs run",
        "~/.cache/bayou-box/other": "caches of other projects",
    }.items():  # fmt: skip
        asked = boxes.check_sandbox_request(f"write {place}")
        assert (
            asked is not None
            and asked.danger_reason.startswith(danger)
            and bool(asked.danger_reason) == bool(danger)
        ), place


async def test_a_store_is_written_by_an_allowed_call_of_its_package_manager(boxed: Boxed, home: Path) -> None:
    for store in PACKAGE_STORES:
        (home / store.folder).mkdir(parents=True)
    hands = boxed()
    for store in PACKAGE_STORES:
        command = f"echo x > ~/{store.folder}/x"
        assert await hands.code(command) != 0
        hands.let_run("other", uses_network=True, programs=frozenset({"npm"}))
        assert await hands.code(command, "other") != 0
        hands.let_run("own", uses_network=True, programs=frozenset({store.program}))
        assert await hands.code(command, "own") == 0


def test_folders_of_projects_that_are_gone_or_old_are_removed(home: Path, project: Path) -> None:
    def folder(name: str) -> Path:
        (home / name).mkdir(exist_ok=True)
        return Path(SandboxProjectCaches(str(home), {}).project_folder(str(home / name), "/nowhere", ()))

    gone, old, used = map(folder, ("gone", "old", "used"))
    module = gone / "go-mod/a"
    module.mkdir(parents=True)
    (module / "a.go").write_text("x")
    module.chmod(0o555)
    long_ago = time.time() - 40 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    (home / "gone").rmdir()
    own = folder("project")
    assert set(used.parent.iterdir()) == {used, own}


def test_a_link_in_place_of_a_projects_folder_is_not_used(home: Path, project: Path) -> None:
    folder = Path(SandboxProjectCaches(str(home), {}).project_folder(str(project), "/nowhere", ()))
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(home / ".ssh")
    (home / "private").mkdir()
    again = SandboxProjectCaches(str(home), {}).project_folder(str(project), str(home / "private"), ())
    assert again == f"{home}/private/caches"


def test_downloads_that_did_not_change_are_not_listed_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".m2/repository/a").mkdir(parents=True)
    (home / ".m2/repository/a/a.jar").write_text("x")
    caches = SandboxProjectCaches(str(home), {})
    folder = caches.project_folder(str(home), "/nowhere", ())
    assert Path(folder, "maven/a/a.jar").is_symlink()
    monkeypatch.setattr(Path, "glob", None)
    assert caches.project_folder(str(home), "/nowhere", ()) == folder


MANIFEST = '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.mark.skipif(shutil.which("cargo") is None, reason="Cargo is not installed")
async def test_cargo_builds_in_it(boxed: Boxed, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME") or str(own_home / ".rustup"))
    (project / "src").mkdir()
    (project / "src/main.rs").write_text('fn main() { println!("built"); }')
    (project / "Cargo.toml").write_text(MANIFEST.format(name="a"))
    assert "built" in await boxed().text("cargo run --offline -q")


POM = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId>"
    "<version>1</version><packaging>pom</packaging></project>"
)


@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
async def test_maven_works_with_it(boxed: Boxed, project: Path) -> None:
    (project / "pom.xml").write_text(POM)
    outcome = await boxed().outcome("mvn -o -q validate")
    assert outcome.exit_code == 0, outcome.output.text


@pytest.mark.parametrize("user", USERS)
def test_in_the_whole_program_for_each_user(user: User) -> None:
    with boxed_user(user) as person:
        person.run("mkdir", "-p", f"{person.home}/.cargo/bin")
        said = person.tries(
            "echo evil > ~/.cargo/bin/ls; echo evil > ~/.cache/evil; echo x > $XDG_CACHE_HOME/x && echo worked"
        )
        assert "worked" in said and said.count("Read-only file system") + said.count("No such file") == 2
        assert list(person.home.rglob("evil")) == []
