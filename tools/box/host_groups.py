"""Named groups of hosts that belong together, so that a package manager needs one question and not one per host.

The rule `net: python packages` allows every host of that group. The hosts are the tools' public defaults;
another registry or a mirror is asked about by its own name."""

from typing import Final

HOST_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "python packages": ("pypi.org", "files.pythonhosted.org", "conda.anaconda.org", "repo.anaconda.com"),
    "npm packages": (
        "registry.npmjs.org",
        "registry.yarnpkg.com",
        "repo.yarnpkg.com",
        "npm.jsr.io",
        "jsr.io",
    ),
    "rust crates": ("index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"),
    "go modules": ("proxy.golang.org", "sum.golang.org"),
    "ruby gems": ("rubygems.org", "index.rubygems.org"),
    "php packages": ("repo.packagist.org", "packagist.org", "getcomposer.org"),
    "java packages": (
        "repo.maven.apache.org",
        "repo1.maven.org",
        "plugins.gradle.org",
        "services.gradle.org",
        "maven.google.com",
        "dl.google.com",
    ),
    "dotnet packages": ("api.nuget.org", "www.nuget.org"),
    "debian packages": (
        "deb.debian.org",
        "security.debian.org",
        "archive.ubuntu.com",
        "security.ubuntu.com",
        "ports.ubuntu.com",
    ),
    "git hosts": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "gitlab.com",
        "bitbucket.org",
        "codeberg.org",
    ),
}
_HOST_GROUP_PORTS: Final = (443, 80)
_HOST_GROUP_BY_PACKAGE_MANAGER: Final[dict[str, str]] = {
    tool: group
    for group, tools in (
        ("python packages", "pip pip3 pipx uv uvx poetry pdm hatch pipenv conda mamba twine"),
        ("npm packages", "npm npx pnpm pnpx yarn bun bunx deno"),
        ("rust crates", "cargo rustup"),
        ("go modules", "go"),
        ("ruby gems", "gem bundle bundler"),
        ("php packages", "composer"),
        ("java packages", "mvn mvnw gradle gradlew"),
        ("dotnet packages", "dotnet nuget"),
        ("debian packages", "apt apt-get aptitude"),
        ("git hosts", "gh glab"),
    )
    for tool in tools.split()
}


def host_group_of_package_manager(program: str) -> str | None:
    """Returns the group whose hosts a package manager connects to."""
    return _HOST_GROUP_BY_PACKAGE_MANAGER.get(program)


def host_group_containing(host: str) -> str | None:
    return next((group for group, hosts in HOST_GROUPS.items() if host in hosts), None)


def hosts_in_host_group(group: str) -> tuple[str, ...]:
    """Returns the hosts of a named group, each as `host:port`."""
    return tuple(f"{host}:{port}" for host in HOST_GROUPS.get(group, ()) for port in _HOST_GROUP_PORTS)


def host_group_contains(group: str, host: str, port: int) -> bool:
    return host in HOST_GROUPS.get(group, ()) and port in _HOST_GROUP_PORTS
