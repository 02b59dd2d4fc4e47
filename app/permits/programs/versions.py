"""Managers of versions of languages, and nix: what they fetch."""

from app.permits.calls import Call, Table, answers_help, table
from app.permits.letters import Finding
from app.permits.programs.verbs import verbs, words_of

_MANAGERS_OF_VERSIONS = verbs(
    network="install add update upgrade sync fetch ls-remote list-remote list-all plugin plugin-add plugin-update "
    "uninstall remove self-update setup",
    code="alias unalias local global set unset shell rehash reshim cache shim shims prune settings trust x doctor "
    "tasks exec haddock sdist freeze configure repl list-bin path gen-bounds ghc ghci runghc switch pin reinstall "
    "default override compile",
    grave="upload publish",
    reads="ls list current which where version versions root prefix plugin-list",
)


def _version_manager(call: Call) -> list[Finding]:
    words = [word.text for word in call.words]
    if words[:1] == ["install"] and {"-l", "-L", "--list"} & set(words):
        return [Finding("R", "only reads")]
    if words[:1] == ["init"] and "--install" in words:
        return [Finding("F", "changes what shells that start run")]
    if words[:2] == ["plugin", "list"] and words[2:3] != ["all"]:
        return [Finding("R", "only reads")]
    return _MANAGERS_OF_VERSIONS(call)


@answers_help
def _nix(call: Call) -> list[Finding]:
    words = words_of(call)
    written = [call.ground.write(word) for word in words[2:3] if words[1].text == "new"]
    if written and words[0].text == "flake":
        return [Finding("N", "nix fetches what is missing"), *written]
    if call.name == "nix-env" and call.words and call.words[0].text.startswith(("-q", "--query")):
        return [Finding("R", "only looks")]
    if call.name != "nix" or (
        words and words[0].text in ("build", "develop", "run", "shell", "flake", "profile", "search")
    ):
        return [Finding("N", "nix fetches what is missing")]
    return [Finding("X", "nix runs what is written for it")]


VERSIONS: Table = table(
    (
        "nvm fnm nvs nodenv volta asdf mise rtx pyenv rbenv rvm goenv gvm jenv sdk tfenv tenv ghcup juliaup phpenv "
        "phpbrew kerl opam cabal stack n",
        _version_manager,
    ),
    ("nix nix-shell nix-build nix-env", _nix),
)
