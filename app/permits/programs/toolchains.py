"""Managers of packages, sources and tools of further languages and boards: what they fetch and what they publish."""

from app.permits.calls import Table, table
from app.permits.programs.by_verb import by_verb

_FETCHES = (
    "install add update upgrade get fetch pull sync download search outdated remove uninstall rm self-update "
    "self-upgrade selfupdate upgrade-self login logout restore deps clone init-remote"
)

TOOLCHAINS: Table = table(
    # One language each
    (
        "bower jspm ni nci nun nup nlx jsr",
        by_verb(
            network=f"{_FETCHES} dlx i info lookup",
            grave="publish unpublish register unregister",
            other="X",
            bare="N",
        ),
    ),
    (
        "pod",
        by_verb(network=f"{_FETCHES} repo setup try", grave="trunk repo-push", code="lib spec ipc"),
    ),
    ("carthage", by_verb(network="bootstrap update checkout outdated", reads="version help")),
    (
        "vcpkg",
        by_verb(network=f"{_FETCHES} bootstrap", reads="list version help", code="integrate export"),
    ),
    (
        "dub nimble shards gleam alr haxelib luarocks opm lpm zef raco nimp esy elm elm-json spago bower "
        "psc-package roswell qlot clpm lein babashka cs coursier jbang sbtn scala-cli glide gvt govendor "
        "rebar chicken-install pkgx wapm wasmer wally rokit aftman bpkg paci fontist",
        by_verb(
            network=f"{_FETCHES} build-deps resolve complete-dep launch setup java java-home use "
            "deps-update deps-get pkg deps.get deps.update with",
            grave="publish upload deploy submit hex-publish -publish hex-retire",
            reads="version help",
        ),
    ),
    ("scoop", by_verb(network=f"{_FETCHES} bucket", reads="list which help")),
    ("gleam", by_verb(network="add update deps", grave="publish hex docs-publish", reads="help")),
    (
        "pear pecl",
        by_verb(
            other="X",
            network=f"{_FETCHES} channel-discover channel-update remote-list remote-info upgrade-all",
            reads="list config-show version",
        ),
    ),
    ("phive pie pickle cgr", by_verb(network=_FETCHES, reads="list show help")),
    (
        "perlbrew plenv exenv kiex swiftenv swiftly chruby frum fvm puro jabba nodist gobrew moonup vfox "
        "hermit devbox flox devenv aqua arkade pkgman pyflow pythonz zigup zvm dvm eim u3d",
        by_verb(
            network=f"{_FETCHES} list-remote ls-remote available use create",
            reads="list ls current version help which",
        ),
    ),
    ("rustup-init.sh install-tl nix-channel rbenv-installer", by_verb(other="N", bare="N")),
    (
        "rails",
        by_verb(
            network="new plugin-new app:update app:template",
            reads="--version",
            grave="credentials:show credentials:edit encrypted:show encrypted:edit secrets:show",
            has_scripts=True,
        ),
    ),
    ("quarto", by_verb(network="install update add use", grave="publish", reads="help")),
    (
        "quarkus mn spring jhipster",
        by_verb(network="create extension ext update add init upgrade", grave="deploy", reads="version"),
    ),
    (
        "meteor",
        by_verb(network="add update npm create search", grave="publish publish-release deploy"),
    ),
    ("hexo", by_verb(network="init", grave="deploy d", code="new n g s publish")),
    (
        "ember nest ng sails gatsby vue nuxi hakyll-init yo plop giget lambo laravel "
        "laravel-zero lumen symfony blitz redwood wasp sencha polymer preact stencil",
        by_verb(
            network="new create init add install i update upgrade plugin addon login logout telemetry "
            "analytics server:ca:install cloud local:server:ca:install telemetry link unlink",
            grave="deploy publish cloud:deploy -deploy",
            code="extract-i18n config cache e2e prepare cleanup typecheck inspect invoke console server:start "
            "server:stop open build-module",
            reads="version help",
        ),
    ),
    (
        "create-react-app create-vite create-next-app create-svelte create-astro create-expo-app create-t3-app "
        "create-remix create-vue create-nuxt-app create-docusaurus create-strapi-app create-electron-app "
        "express-generator wstool rosinstall gclient jiri",
        by_verb(other="N", bare="N"),
    ),
    # Boards
    (
        "west",
        by_verb(
            network="update init blobs sdk packages-pip blobs-fetch",
            reads="list topdir manifest help boards shields",
            code="flash debugserver attach sign spdx twister config forall grep compare",
        ),
    ),
    (
        "pio platformio",
        by_verb(
            other="X",
            network="pkg lib platform boards update upgrade remote account org team home access-list",
            grave="access pkg-publish pkg-unpublish publish account-token org-add org-remove org-create "
            "org-destroy team-add team-create team-remove team-destroy",
            reads="settings-get system-info",
            code="pkg-list pkg-pack pkg-exec run test check debug device ci project settings lib-list",
        ),
    ),
    (
        "arduino-cli",
        by_verb(
            network="core lib update upgrade outdated board-search core-install lib-install",
            reads="version config-dump core-list lib-list board-list board-listall",
            code="compile upload sketch board debug monitor",
            grave="config-init config-set config-add config-delete config-remove",
        ),
    ),
    (
        "idf.py",
        by_verb(
            network="update-dependencies add-dependency create-project-from-example docs",
            code="flash monitor menuconfig set-target size fullclean erase-flash app bootloader reconfigure",
            reads="--version",
        ),
    ),
    ("circup", by_verb(other="N")),
    ("mpremote", by_verb(code="connect run exec cp fs repl mount", network="mip", reads="devs")),
    (
        "mbed mbed-tools newt xmake apio",
        by_verb(network="deploy new import add update install upgrade require", reads="version"),
    ),
    ("sdkmanager nodeenv hererocks tfswitch tgenv", by_verb(other="N", bare="N")),
    ("avdmanager emulator", by_verb()),
    (
        "adb",
        by_verb(
            network="connect disconnect pair tcpip",
            reads="version help",
            grave="reboot root remount disable-verity",
            code="logcat install uninstall push pull devices forward reverse start-server kill-server wait-for-device "
            "exec-out emu bugreport get-state",
        ),
    ),
    # Trees of sources
    (
        "jj",
        by_verb(
            network="git-clone git-fetch git-push gerrit",
            grave="config-set config-edit config-unset",
            code="st log describe desc commit ci edit squash split rebase abandon bookmark op undo restore root file "
            "workspace absorb config git resolve evolog",
        ),
    ),
    (
        "fossil",
        by_verb(
            network="clone sync pull push update up",
            grave="all settings user",
            code="add commit ci timeline open close checkout ui extras changes branch tag stash revert rm mv "
            "merge cat blame",
        ),
    ),
    (
        "dolt",
        by_verb(
            network="clone fetch pull push login",
            grave="config backup",
            code="sql add commit log branch checkout merge reset table schema blame conflicts remote dump "
            "sql-server tag",
        ),
    ),
    ("p4", by_verb(other="N", bare="N", grave="submit obliterate user group protect admin")),
    ("cvs", by_verb(other="N")),
    (
        "darcs pijul",
        by_verb(
            network="clone get pull push put send fetch",
            code="record rec whatsnew what add remove move revert log changes amend tag apply annotate rollback",
        ),
    ),
    (
        "ghq myrepos mr gita vcs repo meta mu-repo gitslave",
        by_verb(
            network="get clone update pull push sync fetch checkout up init upload import",
            reads="list root help",
        ),
    ),
    ("repo", by_verb(network="sync init upload download", reads="help")),
    (
        "quilt stg git-branchless",
        by_verb(
            network="pull fetch mail email",
            code="push pop refresh add edit series top applied unapplied import files fold header delete goto "
            "float sink",
        ),
    ),
    (
        "gt spr ghstack sl git-town av",
        by_verb(network="sync submit s ss push repo get pull fetch auth", grave="land merge ship"),
    ),
)
