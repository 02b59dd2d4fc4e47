"""Files that run later: one table for the gate, which asks before they are written, and for the sandbox, which keeps
commands from them.

A row is a file that some program runs, or takes commands from, without being asked to run this project's code: on
entering a folder, on opening it in an editor or an agent, in git's hooks, at the start of an interpreter. What a person
runs by name (a makefile, a test, a workflow of a forge) is no such file. `app.permits.secrets` judges paths by it.
"""

from typing import Final

import msgspec


class LaterFile(msgspec.Struct, frozen=True):
    path: str
    """Relative. With a slash at its end: a folder, with all that is in it. A name may begin with `*`: any beginning."""
    source: str
    """The program that runs it, and where its manual says so."""

    @property
    def name(self) -> str:
        return self.path.rstrip("/")

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


IN_PROJECTS: Final = (
    # version control
    LaterFile(".git/", "git: githooks(5), git-config(1)"),
    LaterFile(".hg/", "Mercurial: hgrc, hooks"),
    LaterFile(".svn/", "Subversion: working copies"),
    LaterFile(".jj/", "Jujutsu: repository configuration"),
    LaterFile(".husky/", "husky: git hooks"),
    LaterFile(".githooks/", "git: core.hooksPath, by custom"),
    LaterFile(".git-hooks/", "git: core.hooksPath, by custom"),
    LaterFile("lefthook.yml", "lefthook: configuration"),
    LaterFile("lefthook.yaml", "lefthook: configuration"),
    LaterFile("lefthook.toml", "lefthook: configuration"),
    LaterFile("lefthook.json", "lefthook: configuration"),
    LaterFile("lefthook-local.yml", "lefthook: configuration"),
    LaterFile(".lefthook.yml", "lefthook: configuration"),
    LaterFile(".lefthook/", "lefthook: scripts"),
    LaterFile(".lefthook-local/", "lefthook: scripts"),
    LaterFile(".pre-commit-config.yaml", "pre-commit: adding hooks"),
    LaterFile(".pre-commit-config.yml", "prek: configuration"),
    LaterFile(".overcommit.yml", "overcommit: configuration"),
    # agents
    LaterFile(".bayou/", "bayou: settings, extensions, servers"),
    LaterFile(".pi/", "pi: settings, extensions"),
    LaterFile(".mcp.json", "Claude Code, bayou: MCP servers of a project"),
    LaterFile("mcp.json", "bayou: MCP servers of a project"),
    LaterFile(".claude/settings.json", "Claude Code: settings, hooks"),
    LaterFile(".claude/settings.local.json", "Claude Code: settings, hooks"),
    LaterFile(".claude/hooks/", "Claude Code: hooks"),
    LaterFile(".claude/plugins/", "Claude Code: plugins"),
    LaterFile(".codex/config.toml", "Codex CLI: configuration, servers"),
    LaterFile(".codex/hooks.json", "Codex CLI: hooks"),
    LaterFile(".codex/hooks/", "Codex CLI: hooks"),
    LaterFile(".cursor/mcp.json", "Cursor: MCP"),
    LaterFile(".cursor/hooks.json", "Cursor: hooks"),
    LaterFile(".cursor/hooks/", "Cursor: hooks"),
    LaterFile(".cursor/environment.json", "Cursor: background agents"),
    LaterFile(".windsurf/hooks.json", "Windsurf: hooks"),
    LaterFile(".gemini/settings.json", "Gemini CLI: settings, servers, hooks"),
    LaterFile(".gemini/extensions/", "Gemini CLI: extensions"),
    LaterFile(".qwen/settings.json", "Qwen Code: settings"),
    LaterFile("opencode.json", "opencode: configuration, servers"),
    LaterFile("opencode.jsonc", "opencode: configuration, servers"),
    LaterFile(".opencode/opencode.json", "opencode: configuration, servers"),
    LaterFile(".opencode/plugin/", "opencode: plugins"),
    LaterFile(".opencode/plugins/", "opencode: plugins"),
    LaterFile(".opencode/tool/", "opencode: custom tools"),
    LaterFile(".opencode/tools/", "opencode: custom tools"),
    LaterFile("crush.json", "Crush: configuration, servers"),
    LaterFile(".crush.json", "Crush: configuration, servers"),
    LaterFile(".roo/mcp.json", "Roo Code: MCP servers of a project"),
    LaterFile(".kiro/hooks/", "Kiro: hooks"),
    LaterFile(".kiro/settings/", "Kiro: MCP"),
    LaterFile(".junie/mcp/", "Junie: MCP"),
    LaterFile(".amazonq/mcp.json", "Amazon Q: MCP"),
    LaterFile(".amp/settings.json", "Amp: servers, toolbox"),
    LaterFile(".aider.conf.yml", "aider: lint-cmd, test-cmd"),
    LaterFile(".continue/", "Continue: MCP servers"),
    # editors
    LaterFile(".vscode/", "Visual Studio Code: tasks.json, settings.json"),
    LaterFile("*.code-workspace", "Visual Studio Code: multi-root workspaces"),
    LaterFile(".devcontainer/", "Dev Containers: initializeCommand"),
    LaterFile(".devcontainer.json", "Dev Containers: initializeCommand"),
    LaterFile(".idea/", "JetBrains: run configurations, startup tasks"),
    LaterFile(".fleet/", "JetBrains Fleet: run.json"),
    LaterFile(".zed/", "Zed: tasks.json, settings.json"),
    LaterFile(".helix/", "Helix: languages.toml"),
    LaterFile("*.sublime-project", "Sublime Text: projects, build systems"),
    LaterFile(".vimrc", "Vim: 'exrc'"),
    LaterFile("_vimrc", "Vim: 'exrc'"),
    LaterFile(".exrc", "Vim: 'exrc'"),
    LaterFile(".nvimrc", "Neovim: 'exrc'"),
    LaterFile(".nvim.lua", "Neovim: 'exrc'"),
    LaterFile(".lvimrc", "vim-localvimrc"),
    LaterFile(".dir-locals.el", "Emacs: per-directory local variables"),
    LaterFile(".dir-locals-2.el", "Emacs: per-directory local variables"),
    # entering a folder
    LaterFile(".envrc", "direnv: .envrc"),
    LaterFile("mise.toml", "mise: configuration, hooks"),
    LaterFile("mise.local.toml", "mise: configuration, hooks"),
    LaterFile(".mise.toml", "mise: configuration, hooks"),
    LaterFile(".mise.local.toml", "mise: configuration, hooks"),
    LaterFile(".mise/", "mise: configuration, hooks"),
    LaterFile("mise/config.toml", "mise: configuration, hooks"),
    LaterFile(".config/mise/", "mise: configuration, hooks"),
    LaterFile(".config/mise.toml", "mise: configuration, hooks"),
    LaterFile(".rtx.toml", "mise, under its older name"),
    LaterFile(".autoenv.zsh", "zsh-autoenv"),
    LaterFile(".autoenv", "autoenv: enter"),
    LaterFile(".autoenv.leave", "autoenv: leave"),
    LaterFile(".shadowenv.d/", "shadowenv"),
    LaterFile("devbox.json", "Devbox: init_hook"),
    LaterFile(".tmuxinator.yml", "tmuxinator: project configuration"),
    # interpreters and tools that read a file of the folder they start in
    LaterFile("site-packages/*.pth", "Python: site, .pth files"),
    LaterFile("dist-packages/*.pth", "Python: site, .pth files"),
    LaterFile("sitecustomize.py", "Python: site"),
    LaterFile("usercustomize.py", "Python: site"),
    LaterFile(".pdbrc", "Python: pdb"),
    LaterFile(".npmrc", "npm: npmrc, script-shell"),
    LaterFile(".yarnrc", "Yarn 1: yarn-path"),
    LaterFile(".yarnrc.yml", "Yarn: yarnPath, plugins"),
    LaterFile(".yarn/releases/", "Yarn: yarnPath"),
    LaterFile(".yarn/plugins/", "Yarn: plugins"),
    LaterFile(".pnpmfile.cjs", "pnpm: pnpmfile"),
    LaterFile(".pnpmfile.mjs", "pnpm: pnpmfile"),
    LaterFile(".cargo/config", "Cargo: configuration, rustc-wrapper"),
    LaterFile(".cargo/config.toml", "Cargo: configuration, rustc-wrapper"),
    LaterFile(".irbrc", "Ruby: irb"),
    LaterFile(".pryrc", "Pry: pryrc"),
    LaterFile(".Rprofile", "R: Startup"),
    LaterFile(".octaverc", "Octave: startup files"),
    LaterFile(".ghci", "GHCi: the .ghci files"),
    LaterFile(".gdbinit", "GDB: auto-loading"),
    LaterFile(".lldbinit", "LLDB: lldbinit"),
    LaterFile(".psqlrc", "psql: files"),
)
"""In any folder of a project."""

_SHELLS = "its shell's manual: start-up files"
IN_HOME: Final = (
    *(
        LaterFile(name, _SHELLS)
        for name in (
            *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_completion"),
            *(".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".cshrc", ".tcshrc"),
            *(".login", ".logout", ".kshrc", ".mkshrc", ".xonshrc", ".inputrc"),
            *(".config/fish/", ".config/zsh/", ".config/nushell/", ".config/elvish/", ".config/xonsh/"),
            *(".config/powershell/", ".oh-my-zsh/", ".local/share/bash-completion/", ".config/bash/"),
        )
    ),
    LaterFile(".xprofile", "X display managers: session start"),
    LaterFile(".xinitrc", "xinit(1)"),
    LaterFile(".xsession", "Xsession(5)"),
    LaterFile(".xsessionrc", "Xsession(5)"),
    LaterFile(".pam_environment", "pam_env(8)"),
    LaterFile(".config/environment.d/", "systemd: environment.d(5)"),
    LaterFile(".config/systemd/", "systemd: systemd.unit(5)"),
    LaterFile(".local/share/systemd/", "systemd: systemd.unit(5)"),
    LaterFile(".config/autostart/", "XDG: autostart specification"),
    LaterFile(".config/plasma-workspace/", "Plasma: env and shutdown scripts"),
    LaterFile(".config/hypr/", "Hyprland: exec-once"),
    LaterFile(".config/sway/", "sway(5), exec"),
    LaterFile(".config/i3/", "i3: exec"),
    LaterFile(".local/share/applications/", "XDG: desktop entries"),
    LaterFile("Library/LaunchAgents/", "macOS: launchd.plist(5)"),
    LaterFile(".hammerspoon/", "Hammerspoon: init.lua"),
    LaterFile(".local/bin/", "XDG: programs of the user"),
    LaterFile("bin/", "shells: PATH, by custom"),
    LaterFile("go/bin/", "Go: GOBIN"),
    LaterFile(".cargo/bin/", "Cargo: installed programs"),
    LaterFile(".cargo/env", "rustup: sourced by shells"),
    LaterFile(".cargo/config", "Cargo: configuration"),
    LaterFile(".cargo/config.toml", "Cargo: configuration"),
    LaterFile(".gitconfig", "git-config(1), FILES"),
    LaterFile(".config/git/", "git-config(1), FILES"),
    LaterFile(".hgrc", "Mercurial: hgrc"),
    LaterFile(".config/hg/", "Mercurial: hgrc"),
    LaterFile(".config/jj/", "Jujutsu: configuration"),
    LaterFile(".jjconfig.toml", "Jujutsu: configuration"),
    LaterFile(".vimrc", "Vim: initialization"),
    LaterFile(".gvimrc", "Vim: initialization"),
    LaterFile(".exrc", "Vim: initialization"),
    LaterFile(".vim/", "Vim: initialization"),
    LaterFile(".config/nvim/", "Neovim: initialization"),
    LaterFile(".local/share/nvim/", "Neovim: plugins"),
    LaterFile(".emacs", "Emacs: the init file"),
    LaterFile(".emacs.d/", "Emacs: the init file"),
    LaterFile(".config/emacs/", "Emacs: the init file"),
    LaterFile(".config/helix/", "Helix: configuration"),
    LaterFile(".config/zed/", "Zed: settings, tasks"),
    LaterFile(".config/Code/User/", "Visual Studio Code: settings, tasks"),
    LaterFile(".ideavimrc", "IdeaVim"),
    LaterFile(".tmux.conf", "tmux(1), FILES"),
    LaterFile(".config/tmux/", "tmux(1), FILES"),
    LaterFile(".screenrc", "screen(1), FILES"),
    LaterFile(".wezterm.lua", "WezTerm: configuration"),
    LaterFile(".config/wezterm/", "WezTerm: configuration"),
    LaterFile(".config/kitty/", "kitty: configuration"),
    LaterFile(".config/alacritty/", "Alacritty: configuration"),
    LaterFile(".config/ghostty/", "Ghostty: configuration"),
    LaterFile(".config/starship.toml", "Starship: custom commands"),
    LaterFile(".config/direnv/", "direnv: direnvrc"),
    LaterFile(".direnvrc", "direnv: direnvrc"),
    LaterFile(".config/mise/", "mise: configuration"),
    LaterFile(".pythonrc", "Python: PYTHONSTARTUP, by custom"),
    LaterFile(".pythonrc.py", "Python: PYTHONSTARTUP, by custom"),
    LaterFile(".ipython/", "IPython: start-up files"),
    LaterFile(".jupyter/", "Jupyter: configuration"),
    LaterFile(".config/pip/", "pip: configuration, index-url"),
    LaterFile(".pip/", "pip: configuration, index-url"),
    LaterFile(".sqliterc", "sqlite3: ~/.sqliterc"),
    LaterFile(".config/gdb/", "GDB: initialization files"),
    LaterFile(".less", "less(1), lesskey"),
    LaterFile(".lesskey", "less(1), lesskey"),
    LaterFile(".docker/cli-plugins/", "Docker CLI: plugins"),
    LaterFile(".claude.json", "Claude Code: servers"),
    LaterFile(".codex/config.toml", "Codex CLI: configuration"),
    LaterFile(".config/opencode/", "opencode: configuration"),
    LaterFile(".config/crush/", "Crush: configuration"),
    LaterFile(".config/goose/", "goose: extensions"),
)
"""In the home folder."""

VCS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Their names: what removes one removes a history."""
