"""The user's caches, which sandboxed commands cannot write, and the variables by which tools find the project's own
instead. Plain data; `app.engine.sandbox.project_caches` makes the folders."""

from typing import Final

import msgspec


class Cache(msgspec.Struct, frozen=True):
    """A cache folder of the user, and the environment variable by which its tool finds another one."""

    variable: str
    folder: str
    """The user's folder, relative to the home."""
    own: str
    """The project's folder, relative to that of all its caches."""
    links: tuple[str, ...] = ()
    """Patterns of what the project's folder starts with links to: `*` is in a name, `**` any folders."""
    settings: tuple[str, ...] = ()
    """Files that it has links to for projects outside the home; in the home the tool finds the user's."""
    copies: tuple[str, ...] = ()
    """Patterns of small files that it starts with copies of, because tools change them in place."""
    option: str = ""
    """What is added to a variable that has options for the tool; `{own}` is the project's folder."""


CACHES: Final = (
    Cache(
        "XDG_CACHE_HOME",
        ".cache",
        "",
        links=(
            "ms-playwright/*",
            "huggingface/hub/*",
            "torch/hub/checkpoints/*",
            "torch/hub/*",
            "whisper/*",
            "Cypress/*",
        ),
    ),
    Cache("PRE_COMMIT_HOME", ".cache/pre-commit", "pre-commit", copies=("db.db",)),
    Cache("PIP_CACHE_DIR", ".cache/pip", "pip"),
    Cache("UV_CACHE_DIR", ".cache/uv", "uv"),
    Cache("MPLCONFIGDIR", ".config/matplotlib", "matplotlib", links=("matplotlibrc", "stylelib")),
    Cache("npm_config_cache", ".npm", "npm"),
    Cache("YARN_CACHE_FOLDER", ".cache/yarn", "yarn"),
    Cache("BUN_INSTALL_CACHE_DIR", ".bun/install/cache", "bun"),
    Cache(
        "CARGO_HOME",
        ".cargo",
        "cargo",
        links=("registry/cache/*/*.crate", "credentials", "credentials.toml"),
        settings=("config", "config.toml"),
        copies=("registry/index/*/*.json", "registry/index/*/.cache/*/*/*"),
    ),
    Cache("SCCACHE_DIR", ".cache/sccache", "sccache"),
    Cache("CCACHE_DIR", ".ccache", "ccache", links=("ccache.conf",)),
    Cache("GOCACHE", ".cache/go-build", "go-build"),
    Cache("GOMODCACHE", "go/pkg/mod", "go-mod", links=("cache/download/**/@v/*.[imz]*",)),
    Cache(
        "GRADLE_USER_HOME",
        ".gradle",
        "gradle",
        links=(
            *("init.d", "init.gradle", "init.gradle.kts", "gradle.properties"),
            *("wrapper/dists/*/*/gradle-*[0-9]", "wrapper/dists/*/*/*.ok"),
        ),
    ),
    Cache(
        "MAVEN_OPTS",
        ".m2/repository",
        "maven",
        links=("**/*.[jp][ao][rm]",),
        option="-Dmaven.repo.local={own}",
    ),
    Cache(
        "SBT_OPTS",
        ".sbt",
        "sbt",
        links=("repositories", "1.0/*.sbt", "1.0/plugins/*.sbt"),
        option="-Dsbt.boot.directory={own}/boot -Dsbt.global.base={own}/1.0 -Dsbt.ivy.home={own}/ivy",
    ),
    Cache("NUGET_PACKAGES", ".nuget/packages", "nuget"),
    Cache("NUGET_HTTP_CACHE_PATH", ".local/share/NuGet/http-cache", "nuget-http"),
    Cache("BUNDLE_USER_CACHE", ".bundle/cache", "bundle"),
    Cache("COMPOSER_CACHE_DIR", ".composer/cache", "composer"),
    Cache("PUB_CACHE", ".pub-cache", "pub"),
    Cache("HEX_HOME", ".hex", "hex", links=("hex.config",)),
)
"""The variables are those of each tool's manual."""


class Store(msgspec.Struct, frozen=True):
    """A package store in which projects have their files, by links or by its path, so that a project cannot have
    another one. Only its own package manager writes it, when the user allowed that call."""

    folder: str
    program: str
    variable: str = ""


STORES: Final = (
    Store(".local/share/pnpm/store", "pnpm"),
    Store(".yarn/berry", "yarn"),
    Store(".cache/pypoetry/virtualenvs", "poetry", "POETRY_VIRTUALENVS_PATH"),
    Store(".local/share/virtualenvs", "pipenv"),
    Store(".local/share/hatch", "hatch"),
)
