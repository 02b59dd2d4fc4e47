"""The user's caches, which sandboxed commands cannot write, and the variables by which tools find the project's own
instead. Plain data; `app.engine.sandbox.project_caches` makes the folders."""

from typing import Final

import msgspec


class UserCache(msgspec.Struct, frozen=True):
    """A cache folder of the user, and the environment variable by which its tool finds another one."""

    environment_variable: str
    user_folder: str
    """The path of the user's cache folder, relative to the home."""
    project_folder: str
    """The path of the project's cache folder, relative to the folder of all its caches."""
    linked_patterns: tuple[str, ...] = ()
    """Patterns of entries in the user's cache to which a new project cache gets links: `*` matches within a name,
    `**` any folders."""
    linked_settings: tuple[str, ...] = ()
    """Settings files to which the project's cache gets links if the project is outside the home; inside it, the
    tool finds the user's settings itself."""
    copied_patterns: tuple[str, ...] = ()
    """Patterns of small files of which a new project cache gets copies, because tools change them in place."""
    option_format: str = ""
    """The option that is added to the environment variable, if the variable has options for the tool; `{own}`
    stands for the project's folder."""


USER_CACHES: Final = (
    UserCache(
        "XDG_CACHE_HOME",
        ".cache",
        "",
        linked_patterns=(
            "ms-playwright/*",
            "huggingface/hub/*",
            "torch/hub/checkpoints/*",
            "torch/hub/*",
            "whisper/*",
            "Cypress/*",
        ),
    ),
    UserCache("PRE_COMMIT_HOME", ".cache/pre-commit", "pre-commit", copied_patterns=("db.db",)),
    UserCache("PIP_CACHE_DIR", ".cache/pip", "pip"),
    UserCache("UV_CACHE_DIR", ".cache/uv", "uv"),
    UserCache(
        "MPLCONFIGDIR", ".config/matplotlib", "matplotlib", linked_patterns=("matplotlibrc", "stylelib")
    ),
    UserCache("npm_config_cache", ".npm", "npm"),
    UserCache("YARN_CACHE_FOLDER", ".cache/yarn", "yarn"),
    UserCache("BUN_INSTALL_CACHE_DIR", ".bun/install/cache", "bun"),
    UserCache(
        "CARGO_HOME",
        ".cargo",
        "cargo",
        linked_patterns=("registry/cache/*/*.crate", "credentials", "credentials.toml"),
        linked_settings=("config", "config.toml"),
        copied_patterns=("registry/index/*/*.json", "registry/index/*/.cache/*/*/*"),
    ),
    UserCache("SCCACHE_DIR", ".cache/sccache", "sccache"),
    UserCache("CCACHE_DIR", ".ccache", "ccache", linked_patterns=("ccache.conf",)),
    UserCache("GOCACHE", ".cache/go-build", "go-build"),
    UserCache("GOMODCACHE", "go/pkg/mod", "go-mod", linked_patterns=("cache/download/**/@v/*.[imz]*",)),
    UserCache(
        "GRADLE_USER_HOME",
        ".gradle",
        "gradle",
        linked_patterns=(
            *("init.d", "init.gradle", "init.gradle.kts", "gradle.properties"),
            *("wrapper/dists/*/*/gradle-*[0-9]", "wrapper/dists/*/*/*.ok"),
        ),
    ),
    UserCache(
        "MAVEN_OPTS",
        ".m2/repository",
        "maven",
        linked_patterns=("**/*.[jp][ao][rm]",),
        option_format="-Dmaven.repo.local={own}",
    ),
    UserCache(
        "SBT_OPTS",
        ".sbt",
        "sbt",
        linked_patterns=("repositories", "1.0/*.sbt", "1.0/plugins/*.sbt"),
        option_format="-Dsbt.boot.directory={own}/boot -Dsbt.global.base={own}/1.0 -Dsbt.ivy.home={own}/ivy",
    ),
    UserCache("NUGET_PACKAGES", ".nuget/packages", "nuget"),
    UserCache("NUGET_HTTP_CACHE_PATH", ".local/share/NuGet/http-cache", "nuget-http"),
    UserCache("BUNDLE_USER_CACHE", ".bundle/cache", "bundle"),
    UserCache("COMPOSER_CACHE_DIR", ".composer/cache", "composer"),
    UserCache("PUB_CACHE", ".pub-cache", "pub"),
    UserCache("HEX_HOME", ".hex", "hex", linked_patterns=("hex.config",)),
)
"""The caches of known tools, with the environment variables that the manual of each tool names."""


class PackageStore(msgspec.Struct, frozen=True):
    """A store of packages in which projects have their files, as links or by path, so that a project cannot use
    another store. Only the store's own package manager writes it, in calls that the user allowed."""

    folder: str
    program: str
    variable: str = ""


PACKAGE_STORES: Final = (
    PackageStore(".local/share/pnpm/store", "pnpm"),
    PackageStore(".yarn/berry", "yarn"),
    PackageStore(".cache/pypoetry/virtualenvs", "poetry", "POETRY_VIRTUALENVS_PATH"),
    PackageStore(".local/share/virtualenvs", "pipenv"),
    PackageStore(".local/share/hatch", "hatch"),
)
