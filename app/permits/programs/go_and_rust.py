"""Go's and Rust's own tools: what they fetch, what they publish, which settings of the person they change."""

import re

from app.permits.calls import Call, Table, table
from app.permits.letters import Finding
from app.permits.programs.verbs import by_its_name, verbs

_READ = Finding("R", "only reads")
_CARGO_READS = "version help locate-project read-manifest pkgid verify-project"
_CARGO = verbs(
    network="fetch update add remove install uninstall binstall search info generate-lockfile vendor audit "
    "outdated deny "
    "semver-checks upgrade crev vet",
    grave="publish yank owner login logout release smart-release workspaces-publish",
    edits="new init",
    code="clippy metadata nextest fuzz xtask miri llvm-cov expand rustc rustdoc fix tarpaulin codspeed deb hack msrv "
    "udeps machete sort make readme cache report config insta mutants criterion bloat asm flamegraph ndk zigbuild "
    "component leptos tauri dylint careful all-features about public-api rdme spellcheck llvm-lines geiger modules "
    "sweep depgraph generate-rpm packager dist",
    valued="-Z --config --color -C",
    reads=_CARGO_READS,
    bare=_READ,
)


_GO = verbs(
    network="get install mod-tidy mod-download mod-vendor mod-get mod-verify mod-graph mod-why work-sync bug",
    code="vet fix tool clean",
    reads="version doc help",
    edits="mod-edit mod-init work-init work-use work-edit",
)


def _go(call: Call) -> list[Finding]:
    """What is named with a version is fetched; what `env -w` sets stays."""
    words = [word.text for word in call.words]
    if words[:1] == ["env"]:
        changes = any(re.match("--?[wu]", word) for word in words)
        return [Finding("F", "changes settings outside the workspace")] if changes else [_READ]
    if words[:1] == ["telemetry"] and len(words) > 1:
        return [Finding("F", "changes settings outside the workspace")]
    if words[:1] == ["run"] and any(re.search(r"\w@\w", word) for word in words[1:]):
        return [Finding("N", "go fetches a program and runs it")]
    named = [
        named for word in words[1:] if word.endswith(".go") for named in by_its_name(word.rsplit("/", 1)[-1])
    ]
    if words[:1] == ["run"] and named:
        return named
    if words[:1] == ["clean"] and "-i" in words:
        return [Finding("F", "removes installed programs")]
    if words[:1] == ["list"] and {"-u", "-versions"} & set(words):
        return [Finding("N", "asks which versions there are")]
    return _GO(call)


def _cargo(call: Call) -> list[Finding]:
    """`cargo +nightly build`: which toolchain, then the verb."""
    words = call.words[1:] if call.words and call.words[0].text.startswith("+") else call.words
    return _CARGO(call.with_words(call.name, words))


GO_AND_RUST: Table = table(
    ("cargo", _cargo),
    ("go", _go),
    (
        "rustup",
        verbs(
            network="update install component-add target-add toolchain-install default self self-update",
            runs="run",
            code="override set doc",
            reads="show which help toolchain-list target-list component-list",
        ),
    ),
)
