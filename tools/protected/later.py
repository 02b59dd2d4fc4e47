"""Autorun files: the permission gate asks before they are written, and the sandbox protects them from commands.

A row is a file that a program runs, or takes commands from, without being asked to run this project's code: on
entering a folder, on opening it in an editor or an agent, in git's hooks, at the start of an interpreter. Files
that people run by name (a makefile, a test, a CI workflow) are not autorun files. `app.permits.secret_files` checks
paths against the table."""

from typing import Final

import msgspec


class AutorunFile(msgspec.Struct, frozen=True):
    path: str
    """Relative path. A trailing slash means a folder with everything in it. A leading `*` in the name matches any
    beginning."""
    source: str
    """The program that runs the file, and where its manual says so."""

    @property
    def name(self) -> str:
        return self.path.rstrip("/")

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


PROJECT_AUTORUN_FILES: Final = (
    # version control
    AutorunFile(".git/", "git: githooks(5), git-config(1)"),
    AutorunFile(".hg/", "Mercurial: hgrc, hooks"),
    AutorunFile(".svn/", "Subversion: working copies"),
    AutorunFile(".jj/", "Jujutsu: repository configuration"),
    AutorunFile(".husky/", "husky: git hooks"),
    AutorunFile(".githooks/", "git: core.hooksPath, by custom"),
    AutorunFile(".git-hooks/", "git: core.hooksPath, by custom"),
    AutorunFile("lefthook.yml", "lefthook: configuration"),
    AutorunFile("lefthook.yaml", "lefthook: configuration"),
    AutorunFile("lefthook.toml", "lefthook: configuration"),
    AutorunFile("lefthook.json", "lefthook: configuration"),
    AutorunFile("lefthook-local.yml", "lefthook: configuration"),
    AutorunFile(".lefthook.yml", "lefthook: configuration"),
    AutorunFile(".lefthook/", "lefthook: scripts"),
    AutorunFile(".lefthook-local/", "lefthook: scripts"),
    AutorunFile(".pre-commit-config.yaml", "pre-commit: adding hooks"),
    AutorunFile(".pre-commit-config.yml", "prek: configuration"),
    AutorunFile(".overcommit.yml", "overcommit: configuration"),
    # agents
    AutorunFile(".bayou/", "bayou: settings, extensions, servers"),
    AutorunFile(".pi/", "pi: settings, extensions"),
    AutorunFile(".mcp.json", "Claude Code, bayou: MCP servers of a project"),
    AutorunFile("mcp.json", "bayou: MCP servers of a project"),
    AutorunFile(".claude/settings.json", "Claude Code: settings, hooks"),
    AutorunFile(".claude/settings.local.json", "Claude Code: settings, hooks"),
    AutorunFile(".claude/hooks/", "Claude Code: hooks"),
    AutorunFile(".claude/plugins/", "Claude Code: plugins"),
    AutorunFile(".codex/config.toml", "Codex CLI: configuration, servers"),
    AutorunFile(".codex/hooks.json", "Codex CLI: hooks"),
    AutorunFile(".codex/hooks/", "Codex CLI: hooks"),
    AutorunFile(".cursor/mcp.json", "Cursor: MCP"),
    AutorunFile(".cursor/hooks.json", "Cursor: hooks"),
    AutorunFile(".cursor/hooks/", "Cursor: hooks"),
    AutorunFile(".cursor/environment.json", "Cursor: background agents"),
    AutorunFile(".windsurf/hooks.json", "Windsurf: hooks"),
    AutorunFile(".gemini/settings.json", "Gemini CLI: settings, servers, hooks"),
    AutorunFile(".gemini/extensions/", "Gemini CLI: extensions"),
    AutorunFile(".qwen/settings.json", "Qwen Code: settings"),
    AutorunFile("opencode.json", "opencode: configuration, servers"),
    AutorunFile("opencode.jsonc", "opencode: configuration, servers"),
    AutorunFile(".opencode/opencode.json", "opencode: configuration, servers"),
    AutorunFile(".opencode/plugin/", "opencode: plugins"),
    AutorunFile(".opencode/plugins/", "opencode: plugins"),
    AutorunFile(".opencode/tool/", "opencode: custom tools"),
    AutorunFile(".opencode/tools/", "opencode: custom tools"),
    AutorunFile("crush.json", "Crush: configuration, servers"),
    AutorunFile(".crush.json", "Crush: configuration, servers"),
    AutorunFile(".roo/mcp.json", "Roo Code: MCP servers of a project"),
    AutorunFile(".kiro/hooks/", "Kiro: hooks"),
    AutorunFile(".kiro/settings/", "Kiro: MCP"),
    AutorunFile(".junie/mcp/", "Junie: MCP"),
    AutorunFile(".amazonq/mcp.json", "Amazon Q: MCP"),
    AutorunFile(".amp/settings.json", "Amp: servers, toolbox"),
    AutorunFile(".aider.conf.yml", "aider: lint-cmd, test-cmd"),
    AutorunFile(".continue/", "Continue: MCP servers"),
    # editors
    AutorunFile(".vscode/", "Visual Studio Code: tasks.json, settings.json"),
    AutorunFile("*.code-workspace", "Visual Studio Code: multi-root workspaces"),
    AutorunFile(".devcontainer/", "Dev Containers: initializeCommand"),
    AutorunFile(".devcontainer.json", "Dev Containers: initializeCommand"),
    AutorunFile(".idea/", "JetBrains: run configurations, startup tasks"),
    AutorunFile(".fleet/", "JetBrains Fleet: run.json"),
    AutorunFile(".zed/", "Zed: tasks.json, settings.json"),
    AutorunFile(".helix/", "Helix: languages.toml"),
    AutorunFile("*.sublime-project", "Sublime Text: projects, build systems"),
    AutorunFile(".vimrc", "Vim: 'exrc'"),
    AutorunFile("_vimrc", "Vim: 'exrc'"),
    AutorunFile(".exrc", "Vim: 'exrc'"),
    AutorunFile(".nvimrc", "Neovim: 'exrc'"),
    AutorunFile(".nvim.lua", "Neovim: 'exrc'"),
    AutorunFile(".lvimrc", "vim-localvimrc"),
    AutorunFile(".dir-locals.el", "Emacs: per-directory local variables"),
    AutorunFile(".dir-locals-2.el", "Emacs: per-directory local variables"),
    # entering a folder
    AutorunFile(".envrc", "direnv: .envrc"),
    AutorunFile("mise.toml", "mise: configuration, hooks"),
    AutorunFile("mise.local.toml", "mise: configuration, hooks"),
    AutorunFile(".mise.toml", "mise: configuration, hooks"),
    AutorunFile(".mise.local.toml", "mise: configuration, hooks"),
    AutorunFile(".mise/", "mise: configuration, hooks"),
    AutorunFile("mise/config.toml", "mise: configuration, hooks"),
    AutorunFile(".config/mise/", "mise: configuration, hooks"),
    AutorunFile(".config/mise.toml", "mise: configuration, hooks"),
    AutorunFile(".rtx.toml", "mise, under its older name"),
    AutorunFile(".autoenv.zsh", "zsh-autoenv"),
    AutorunFile(".autoenv", "autoenv: enter"),
    AutorunFile(".autoenv.leave", "autoenv: leave"),
    AutorunFile(".shadowenv.d/", "shadowenv"),
    AutorunFile("devbox.json", "Devbox: init_hook"),
    AutorunFile(".tmuxinator.yml", "tmuxinator: project configuration"),
    # interpreters and tools that read a file of the folder they start in
    AutorunFile("site-packages/*.pth", "Python: site, .pth files"),
    AutorunFile("dist-packages/*.pth", "Python: site, .pth files"),
    AutorunFile("sitecustomize.py", "Python: site"),
    AutorunFile("usercustomize.py", "Python: site"),
    AutorunFile(".pdbrc", "Python: pdb"),
    AutorunFile(".npmrc", "npm: npmrc, script-shell"),
    AutorunFile(".yarnrc", "Yarn 1: yarn-path"),
    AutorunFile(".yarnrc.yml", "Yarn: yarnPath, plugins"),
    AutorunFile(".yarn/releases/", "Yarn: yarnPath"),
    AutorunFile(".yarn/plugins/", "Yarn: plugins"),
    AutorunFile(".pnpmfile.cjs", "pnpm: pnpmfile"),
    AutorunFile(".pnpmfile.mjs", "pnpm: pnpmfile"),
    AutorunFile(".cargo/config", "Cargo: configuration, rustc-wrapper"),
    AutorunFile(".cargo/config.toml", "Cargo: configuration, rustc-wrapper"),
    AutorunFile(".irbrc", "Ruby: irb"),
    AutorunFile(".pryrc", "Pry: pryrc"),
    AutorunFile(".Rprofile", "R: Startup"),
    AutorunFile(".octaverc", "Octave: startup files"),
    AutorunFile(".ghci", "GHCi: the .ghci files"),
    AutorunFile(".gdbinit", "GDB: auto-loading"),
    AutorunFile(".lldbinit", "LLDB: lldbinit"),
    AutorunFile(".psqlrc", "psql: files"),
)
"""Autorun files in any folder of a project."""

_SHELLS = "its shell's manual: start-up files"
HOME_AUTORUN_FILES: Final = (
    *(
        AutorunFile(name, _SHELLS)
        for name in (
            *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_completion"),
            *(".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".cshrc", ".tcshrc"),
            *(".login", ".logout", ".kshrc", ".mkshrc", ".xonshrc", ".inputrc"),
            *(".config/fish/", ".config/zsh/", ".config/nushell/", ".config/elvish/", ".config/xonsh/"),
            *(".config/powershell/", ".oh-my-zsh/", ".local/share/bash-completion/", ".config/bash/"),
        )
    ),
    AutorunFile(".xprofile", "X display managers: session start"),
    AutorunFile(".xinitrc", "xinit(1)"),
    AutorunFile(".xsession", "Xsession(5)"),
    AutorunFile(".xsessionrc", "Xsession(5)"),
    AutorunFile(".pam_environment", "pam_env(8)"),
    AutorunFile(".config/environment.d/", "systemd: environment.d(5)"),
    AutorunFile(".config/systemd/", "systemd: systemd.unit(5)"),
    AutorunFile(".local/share/systemd/", "systemd: systemd.unit(5)"),
    AutorunFile(".config/autostart/", "XDG: autostart specification"),
    AutorunFile(".config/plasma-workspace/", "Plasma: env and shutdown scripts"),
    AutorunFile(".config/hypr/", "Hyprland: exec-once"),
    AutorunFile(".config/sway/", "sway(5), exec"),
    AutorunFile(".config/i3/", "i3: exec"),
    AutorunFile(".local/share/applications/", "XDG: desktop entries"),
    AutorunFile("Library/LaunchAgents/", "macOS: launchd.plist(5)"),
    AutorunFile(".hammerspoon/", "Hammerspoon: init.lua"),
    AutorunFile(".local/bin/", "XDG: programs of the user"),
    AutorunFile("bin/", "shells: PATH, by custom"),
    AutorunFile("go/bin/", "Go: GOBIN"),
    AutorunFile(".cargo/bin/", "Cargo: installed programs"),
    AutorunFile(".cargo/env", "rustup: sourced by shells"),
    AutorunFile(".cargo/config", "Cargo: configuration"),
    AutorunFile(".cargo/config.toml", "Cargo: configuration"),
    AutorunFile(".gitconfig", "git-config(1), FILES"),
    AutorunFile(".config/git/", "git-config(1), FILES"),
    AutorunFile(".hgrc", "Mercurial: hgrc"),
    AutorunFile(".config/hg/", "Mercurial: hgrc"),
    AutorunFile(".config/jj/", "Jujutsu: configuration"),
    AutorunFile(".jjconfig.toml", "Jujutsu: configuration"),
    AutorunFile(".vimrc", "Vim: initialization"),
    AutorunFile(".gvimrc", "Vim: initialization"),
    AutorunFile(".exrc", "Vim: initialization"),
    AutorunFile(".vim/", "Vim: initialization"),
    AutorunFile(".config/nvim/", "Neovim: initialization"),
    AutorunFile(".local/share/nvim/", "Neovim: plugins"),
    AutorunFile(".emacs", "Emacs: the init file"),
    AutorunFile(".emacs.d/", "Emacs: the init file"),
    AutorunFile(".config/emacs/", "Emacs: the init file"),
    AutorunFile(".config/helix/", "Helix: configuration"),
    AutorunFile(".config/zed/", "Zed: settings, tasks"),
    AutorunFile(".config/Code/User/", "Visual Studio Code: settings, tasks"),
    AutorunFile(".ideavimrc", "IdeaVim"),
    AutorunFile(".tmux.conf", "tmux(1), FILES"),
    AutorunFile(".config/tmux/", "tmux(1), FILES"),
    AutorunFile(".screenrc", "screen(1), FILES"),
    AutorunFile(".wezterm.lua", "WezTerm: configuration"),
    AutorunFile(".config/wezterm/", "WezTerm: configuration"),
    AutorunFile(".config/kitty/", "kitty: configuration"),
    AutorunFile(".config/alacritty/", "Alacritty: configuration"),
    AutorunFile(".config/ghostty/", "Ghostty: configuration"),
    AutorunFile(".config/starship.toml", "Starship: custom commands"),
    AutorunFile(".config/direnv/", "direnv: direnvrc"),
    AutorunFile(".direnvrc", "direnv: direnvrc"),
    AutorunFile(".config/mise/", "mise: configuration"),
    AutorunFile(".pythonrc", "Python: PYTHONSTARTUP, by custom"),
    AutorunFile(".pythonrc.py", "Python: PYTHONSTARTUP, by custom"),
    AutorunFile(".ipython/", "IPython: start-up files"),
    AutorunFile(".jupyter/", "Jupyter: configuration"),
    AutorunFile(".config/pip/", "pip: configuration, index-url"),
    AutorunFile(".pip/", "pip: configuration, index-url"),
    AutorunFile(".sqliterc", "sqlite3: ~/.sqliterc"),
    AutorunFile(".config/gdb/", "GDB: initialization files"),
    AutorunFile(".less", "less(1), lesskey"),
    AutorunFile(".lesskey", "less(1), lesskey"),
    AutorunFile(".docker/cli-plugins/", "Docker CLI: plugins"),
    AutorunFile(".claude.json", "Claude Code: servers"),
    AutorunFile(".codex/config.toml", "Codex CLI: configuration"),
    AutorunFile(".config/opencode/", "opencode: configuration"),
    AutorunFile(".config/crush/", "Crush: configuration"),
    AutorunFile(".config/goose/", "goose: extensions"),
)
"""Autorun files in the home folder."""

VCS_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of version control systems: removing one removes the project's history."""
