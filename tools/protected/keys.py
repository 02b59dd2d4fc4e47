"""Places where programs store keys, and histories of what was typed: the permission gate asks before they are
read, and the sandbox hides them.

A row names the program that stores credentials there, and the manual that says so. Plain data;
`app.permits.secret_files` checks paths against it, and `app.engine.sandbox.sandbox_places` hides the existing ones."""

from typing import Final

import msgspec


class KeyPlace(msgspec.Struct, frozen=True):
    path: str
    """Path below the home folder. A trailing slash means a folder with everything in it."""
    source: str
    """The program, and where its manual names this place."""
    programs: tuple[str, ...] = ()
    """Programs that may read the place in the sandbox when they have network access."""

    @property
    def name(self) -> str:
        return self.path.rstrip("/")

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


class KeyName(msgspec.Struct, frozen=True):
    name: str
    """File name in any folder. A leading `*` matches the end of the name."""
    source: str
    programs: tuple[str, ...] = ()
    """Like `KeyPlace.programs`, for the file of that name in the home folder."""


_PYTHON = ("pip", "pip3", "uv")
_NODE = ("npm", "npx", "pnpm", "yarn")
_SSH = ("git", "ssh", "scp", "sftp", "rsync", "ssh-add")

KEY_PLACES: Final = (
    # keys and passwords of the person
    KeyPlace(".ssh/", "OpenSSH: ssh(1), FILES", _SSH),
    KeyPlace(".gnupg/", "GnuPG: gpg(1), --homedir"),
    KeyPlace(".password-store/", "pass(1), ENVIRONMENT"),
    KeyPlace(".local/share/keyrings/", "GNOME Keyring: login keyring"),
    KeyPlace(".local/share/kwalletd/", "KWallet: kwalletd"),
    KeyPlace("Library/Keychains/", "macOS: security(1)"),
    KeyPlace(".config/op/", "1Password CLI: op, configuration directories"),
    KeyPlace(".config/Bitwarden CLI/", "Bitwarden CLI: data.json"),
    KeyPlace(".config/sops/age/", "SOPS: age key file"),
    KeyPlace(".config/age/", "age: identity files"),
    KeyPlace(".authinfo", "Emacs auth-source: auth-sources"),
    KeyPlace(".authinfo.gpg", "Emacs auth-source: auth-sources"),
    KeyPlace(".smbcredentials", "mount.cifs(8), credentials"),
    KeyPlace(".vault_pass", "Ansible: vault password files"),
    KeyPlace(".ansible/galaxy_token", "Ansible: GALAXY_TOKEN_PATH"),
    # clouds
    KeyPlace(".aws/", "AWS CLI: configuration and credential files", ("aws", "kubectl")),
    KeyPlace(".azure/", "Azure CLI: AZURE_CONFIG_DIR", ("az",)),
    KeyPlace(".config/gcloud/", "gcloud: configuration directory", ("gcloud", "gsutil", "kubectl")),
    KeyPlace(".oci/", "OCI CLI: SDK and CLI configuration file"),
    KeyPlace(".aliyun/", "Alibaba Cloud CLI: configure"),
    KeyPlace(".bluemix/", "IBM Cloud CLI: IBMCLOUD_HOME"),
    KeyPlace(".config/doctl/", "doctl: config.yaml"),
    KeyPlace(".config/hcloud/", "hcloud: cli.toml"),
    KeyPlace(".config/linode-cli", "linode-cli: configuration"),
    KeyPlace(".config/scw/", "Scaleway CLI: config.yaml"),
    KeyPlace(".config/rclone/", "rclone: config file"),
    KeyPlace(".rclone.conf", "rclone: config file, older place"),
    KeyPlace(".config/s3cmd/", "s3cmd: configuration"),
    KeyPlace(".mc/", "MinIO client: config.json"),
    KeyPlace(".config/configstore/", "firebase-tools and others: configstore"),
    KeyPlace(".netlify/", "Netlify CLI: config.json"),
    KeyPlace(".config/netlify/", "Netlify CLI: config.json"),
    KeyPlace(".local/share/com.vercel.cli/", "Vercel CLI: global configuration"),
    KeyPlace("Library/Application Support/com.vercel.cli/", "Vercel CLI: global configuration"),
    KeyPlace(".fly/", "flyctl: config.yml"),
    KeyPlace(".railway/", "Railway CLI: config.json"),
    KeyPlace(".wrangler/", "Cloudflare Wrangler: config/default.toml"),
    KeyPlace(".config/.wrangler/", "Cloudflare Wrangler: config/default.toml"),
    KeyPlace(".cloudflared/", "cloudflared: cert.pem and tunnel credentials"),
    KeyPlace(".ngrok2/", "ngrok: ngrok.yml, version 2"),
    KeyPlace(".config/ngrok/", "ngrok: ngrok.yml"),
    KeyPlace(".expo/", "Expo CLI: state.json"),
    # machines and services
    KeyPlace(".kube/", "kubectl: kubeconfig files", ("kubectl", "helm")),
    KeyPlace(".config/helm/", "Helm: HELM_CONFIG_HOME", ("helm",)),
    KeyPlace(".config/argocd/", "argocd: config"),
    KeyPlace(".docker/config.json", "Docker CLI: config.json", ("docker", "podman")),
    KeyPlace(".config/containers/auth.json", "containers-auth.json(5)", ("podman",)),
    KeyPlace(".terraform.d/credentials.tfrc.json", "Terraform: CLI configuration, credentials"),
    KeyPlace(".pulumi/credentials.json", "Pulumi: pulumi login"),
    KeyPlace(".chef/", "Chef: credentials"),
    KeyPlace(".sentryclirc", "sentry-cli: configuration"),
    KeyPlace(".snowflake/", "Snowflake CLI: connections.toml"),
    KeyPlace(".snowsql/", "SnowSQL: config"),
    KeyPlace(".dbt/profiles.yml", "dbt: profiles.yml"),
    KeyPlace(".mylogin.cnf", "mysql_config_editor(1)"),
    KeyPlace(".huggingface/", "huggingface_hub: HF_HOME, older place"),
    KeyPlace(".cache/huggingface/token", "huggingface_hub: HF_TOKEN_PATH"),
    KeyPlace(".cache/huggingface/stored_tokens", "huggingface_hub: HF_STORED_TOKENS_PATH"),
    KeyPlace(".kaggle/", "Kaggle API: kaggle.json"),
    KeyPlace(".config/io.datasette.llm/keys.json", "llm: keys set"),
    # forges and version control
    KeyPlace(".config/gh/", "GitHub CLI: GH_CONFIG_DIR", ("gh", "git")),
    KeyPlace(".config/glab-cli/", "GitLab CLI: config.yml"),
    KeyPlace(".config/hub", "hub(1), configuration"),
    KeyPlace(".config/tea/", "Gitea tea: config.yml"),
    KeyPlace(".config/git/credentials", "git-credential-store(1), FILES", ("git",)),
    KeyPlace(".subversion/auth/", "Subversion: runtime configuration area"),
    # package managers
    KeyPlace(".cargo/credentials", "Cargo: credentials, older name"),
    KeyPlace(".cargo/credentials.toml", "Cargo: credentials"),
    KeyPlace(".gem/credentials", "RubyGems: gem signin"),
    KeyPlace(".local/share/gem/credentials", "RubyGems: gem signin"),
    KeyPlace(".bundle/config", "Bundler: bundle config"),
    KeyPlace(".composer/auth.json", "Composer: authentication"),
    KeyPlace(".config/composer/auth.json", "Composer: authentication"),
    KeyPlace(".config/pypoetry/auth.toml", "Poetry: repositories, credentials"),
    KeyPlace("Library/Application Support/pypoetry/auth.toml", "Poetry: repositories, credentials"),
    KeyPlace(".config/pdm/", "PDM: configuration, repository.*.password"),
    KeyPlace(".local/share/uv/credentials/", "uv: authentication, credentials directory"),
    KeyPlace(".config/anaconda-client/", "anaconda-client: tokens"),
    KeyPlace(".continuum/", "anaconda-client: tokens"),
    KeyPlace(".yarnrc.yml", "Yarn: npmAuthToken", _NODE),
    KeyPlace(".config/pnpm/rc", "pnpm: .npmrc, global configuration", _NODE),
    KeyPlace(".gradle/gradle.properties", "Gradle: build environment, GRADLE_USER_HOME"),
    KeyPlace(".m2/settings.xml", "Maven: settings reference, servers"),
    KeyPlace(".m2/settings-security.xml", "Maven: password encryption"),
    KeyPlace(".ivy2/.credentials", "sbt: publishing, credentials"),
    KeyPlace(".sbt/.credentials", "sbt: publishing, credentials"),
    KeyPlace(".nuget/NuGet/NuGet.Config", "NuGet: nuget.config, packageSourceCredentials"),
    KeyPlace(".config/NuGet/NuGet.Config", "NuGet: nuget.config, packageSourceCredentials"),
    KeyPlace(".hex/hex.config", "Hex: mix hex.user auth"),
    KeyPlace(".config/dart/pub-credentials.json", "Dart pub: pub login"),
    KeyPlace(".pub-cache/credentials.json", "Dart pub: pub login, older place"),
    KeyPlace(".pause", "cpan-upload: configuration"),
    # mail and messages
    KeyPlace(".thunderbird/", "Thunderbird: profiles"),
    KeyPlace(".msmtprc", "msmtp: configuration files"),
    KeyPlace(".mbsyncrc", "mbsync(1), FILES"),
    KeyPlace(".offlineimaprc", "OfflineIMAP: configuration"),
    KeyPlace(".fetchmailrc", "fetchmail(1), run control file"),
    KeyPlace(".purple/", "libpurple: accounts.xml"),
    KeyPlace(".config/Slack/", "Slack: Electron user data"),
    KeyPlace(".config/discord/", "Discord: Electron user data"),
    KeyPlace(".config/Signal/", "Signal Desktop: config.json"),
    # browsers
    KeyPlace(".mozilla/", "Firefox: profiles"),
    KeyPlace(".librewolf/", "LibreWolf: profiles"),
    KeyPlace(".waterfox/", "Waterfox: profiles"),
    KeyPlace(".zen/", "Zen Browser: profiles"),
    KeyPlace(".config/google-chrome/", "Chrome: user data directory"),
    KeyPlace(".config/google-chrome-beta/", "Chrome: user data directory"),
    KeyPlace(".config/google-chrome-unstable/", "Chrome: user data directory"),
    KeyPlace(".config/chromium/", "Chromium: user data directory"),
    KeyPlace(".config/BraveSoftware/", "Brave: user data directory"),
    KeyPlace(".config/microsoft-edge/", "Edge: user data directory"),
    KeyPlace(".config/opera/", "Opera: user data directory"),
    KeyPlace(".config/vivaldi/", "Vivaldi: user data directory"),
    KeyPlace("snap/firefox/", "Firefox as a snap: profiles"),
    KeyPlace("snap/chromium/", "Chromium as a snap: user data directory"),
    KeyPlace("snap/brave/", "Brave as a snap: user data directory"),
    KeyPlace(".var/app/org.mozilla.firefox/", "Firefox as a Flatpak: profiles"),
    KeyPlace(".var/app/org.mozilla.Thunderbird/", "Thunderbird as a Flatpak: profiles"),
    KeyPlace(".var/app/io.gitlab.librewolf-community/", "LibreWolf as a Flatpak: profiles"),
    KeyPlace(".var/app/com.google.Chrome/", "Chrome as a Flatpak: user data directory"),
    KeyPlace(".var/app/org.chromium.Chromium/", "Chromium as a Flatpak: user data directory"),
    KeyPlace(".var/app/com.brave.Browser/", "Brave as a Flatpak: user data directory"),
    KeyPlace(".var/app/com.microsoft.Edge/", "Edge as a Flatpak: user data directory"),
    KeyPlace("Library/Application Support/Google/Chrome/", "Chrome: user data directory"),
    KeyPlace("Library/Application Support/Chromium/", "Chromium: user data directory"),
    KeyPlace("Library/Application Support/Firefox/", "Firefox: profiles"),
    KeyPlace("Library/Application Support/BraveSoftware/", "Brave: user data directory"),
    KeyPlace("Library/Application Support/Microsoft Edge/", "Edge: user data directory"),
    KeyPlace("Library/Application Support/Arc/", "Arc: user data directory"),
    KeyPlace("Library/Application Support/Vivaldi/", "Vivaldi: user data directory"),
    KeyPlace("Library/Application Support/com.operasoftware.Opera/", "Opera: user data directory"),
    KeyPlace("Library/Safari/", "Safari: databases"),
    KeyPlace("Library/Cookies/", "macOS: cookies of programs"),
    # histories, which keep the keys that were typed
    KeyPlace(".bash_history", "Bash: HISTFILE"),
    KeyPlace(".bash_sessions/", "macOS: /etc/bashrc_Apple_Terminal, histories of sessions"),
    KeyPlace(".zsh_history", "Zsh: HISTFILE, as set by macOS and Oh My Zsh"),
    KeyPlace(".histfile", "Zsh: HISTFILE, as set by zsh-newuser-install"),
    KeyPlace(".zhistory", "Zsh: HISTFILE, as set by Prezto and grml"),
    KeyPlace(".zsh_sessions/", "macOS: /etc/zshrc_Apple_Terminal, histories of sessions"),
    KeyPlace(".sh_history", "KornShell: ksh(1), HISTFILE"),
    KeyPlace(".mksh_history", "mksh: HISTFILE"),
    KeyPlace(".ash_history", "BusyBox ash: HISTFILE"),
    KeyPlace(".history", "tcsh(1): histfile"),
    KeyPlace(".local/share/fish/fish_history", "fish: history, fish_history"),
    KeyPlace(".config/nushell/history.txt", "Nushell: history.file_format"),
    KeyPlace(".config/nushell/history.sqlite3", "Nushell: history.file_format"),
    KeyPlace(".local/share/powershell/PSReadLine/", "PSReadLine: HistorySavePath"),
    KeyPlace(".local/share/atuin/", "Atuin: db_path and key_path"),
    KeyPlace(".local/share/xonsh/history_json/", "xonsh: XONSH_HISTORY_FILE"),
    KeyPlace(".psql_history", "psql: FILES, HISTFILE"),
    KeyPlace(".mysql_history", "MySQL: mysql client logging, MYSQL_HISTFILE"),
    KeyPlace(".mariadb_history", "MariaDB: mariadb client, MYSQL_HISTFILE"),
    KeyPlace(".mycli-history", "mycli: history_file"),
    KeyPlace(".config/pgcli/history", "pgcli: history_file"),
    KeyPlace(".sqlite_history", "SQLite: sqlite3 shell, SQLITE_HISTORY"),
    KeyPlace(".duckdb_history", "DuckDB: command line client, DUCKDB_HISTORY"),
    KeyPlace(".rediscli_history", "redis-cli: REDISCLI_HISTFILE"),
    KeyPlace(".dbshell", "MongoDB: mongo shell, FILES"),
    KeyPlace(".mongodb/mongosh/mongosh_repl_history", "mongosh: configuration files, history"),
    KeyPlace(".cassandra/cqlsh_history", "cqlsh: CQL_HISTORY"),
    KeyPlace(".clickhouse-client-history", "ClickHouse: clickhouse-client, history_file"),
    KeyPlace(".influx_history", "InfluxDB: influx shell, history"),
    KeyPlace(".python_history", "Python: site, interactive configuration"),
    KeyPlace(".ipython/profile_default/history.sqlite", "IPython: HistoryManager.hist_file"),
    KeyPlace(".node_repl_history", "Node.js: NODE_REPL_HISTORY"),
    KeyPlace(".irb_history", "Ruby: irb, history file"),
    KeyPlace(".pry_history", "Pry: history file"),
    KeyPlace(".local/share/pry/pry_history", "Pry: history file"),
    KeyPlace(".php_history", "PHP: interactive shell"),
    KeyPlace(".Rhistory", "R: savehistory, R_HISTFILE"),
    # wallets
    KeyPlace(".bitcoin/", "Bitcoin Core: data directory"),
    KeyPlace(".electrum/", "Electrum: wallets"),
    KeyPlace(".ethereum/keystore/", "Geth: account management"),
    KeyPlace(".foundry/keystores/", "Foundry: cast wallet"),
    KeyPlace(".config/solana/", "Solana CLI: id.json"),
    # agents
    KeyPlace(".bayou/agent/auth.json", "bayou: bayou auth"),
    KeyPlace(".bayou/agent/mcp-auth.json", "bayou: sign-ins to MCP servers"),
    KeyPlace(".bayou/agent/mcp.json", "bayou: MCP servers and their keys"),
    KeyPlace(".bayou/agent/models.json", "bayou: models and their keys"),
    KeyPlace(".pi/agent/auth.json", "pi: authentication"),
    KeyPlace(".claude/.credentials.json", "Claude Code: credential management"),
    KeyPlace(".claude.json", "Claude Code: global configuration, with servers and their keys"),
    KeyPlace(".codex/auth.json", "Codex CLI: authentication"),
    KeyPlace(".gemini/oauth_creds.json", "Gemini CLI: authentication"),
    KeyPlace(".qwen/oauth_creds.json", "Qwen Code: authentication"),
    KeyPlace(".local/share/opencode/auth.json", "opencode: auth login"),
    KeyPlace(".local/share/opencode/mcp-auth.json", "opencode: mcp auth"),
    KeyPlace(".local/share/amp/secrets.json", "Amp: secrets"),
    KeyPlace(".local/share/crush/crush.json", "Crush: API keys"),
    KeyPlace(".config/goose/secrets.yaml", "goose: secrets without a keyring"),
    KeyPlace(".config/github-copilot/", "GitHub Copilot: apps.json, hosts.json"),
    KeyPlace(".aider.conf.yml", "aider: configuration with keys"),
    KeyPlace(".continue/config.yaml", "Continue: models and their keys"),
    KeyPlace(".continue/config.json", "Continue: models and their keys"),
    KeyPlace(".cursor/mcp.json", "Cursor: servers and their keys"),
)

KEY_NAMES: Final = (
    KeyName(".netrc", "curl: .netrc", ("git", "curl", "wget", *_PYTHON)),
    KeyName("_netrc", "curl: .netrc on Windows"),
    KeyName(".pgpass", "PostgreSQL: the password file", ("psql", "pg_dump")),
    KeyName(".npmrc", "npm: npmrc, auth related configuration", _NODE),
    KeyName(".pypirc", "Python packaging: the .pypirc file", _PYTHON),
    KeyName(".git-credentials", "git-credential-store(1), FILES", ("git",)),
    KeyName(".my.cnf", "MySQL: using option files", ("mysql",)),
    KeyName("id_rsa", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName("id_dsa", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName("id_ecdsa", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName("id_ed25519", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName("id_ecdsa_sk", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName("id_ed25519_sk", "OpenSSH: ssh-keygen(1), FILES"),
    KeyName(".env", "dotenv: files with variables"),
    KeyName("logins.json", "Firefox: a profile's passwords"),
    KeyName("key4.db", "Firefox: a profile's key"),
    KeyName("cookies.sqlite", "Firefox: a profile's cookies"),
    KeyName("Login Data", "Chromium: a profile's passwords"),
    KeyName(".vault-token", "Vault: token helper"),
    KeyName(".terraformrc", "Terraform: CLI configuration"),
    KeyName(".tofurc", "OpenTofu: CLI configuration"),
    KeyName("credentials.tfrc.json", "Terraform: terraform login"),
    KeyName(".boto", "gsutil: configuration"),
    KeyName(".s3cfg", "s3cmd: configuration"),
    KeyName(".databrickscfg", "Databricks: configuration profiles"),
    KeyName(".htpasswd", "Apache: htpasswd"),
    KeyName("*.pem", "PEM: RFC 7468"),
    KeyName("*.key", "OpenSSL: private keys"),
    KeyName("*.p12", "PKCS #12"),
    KeyName("*.pfx", "PKCS #12"),
    KeyName("*.keystore", "Java: keytool"),
    KeyName("*.jks", "Java: keytool"),
    KeyName("*.ppk", "PuTTY: puttygen"),
    KeyName("*.kdbx", "KeePass: databases"),
)

SAMPLE_ENDINGS: Final = ("example", "sample", "template", "dist")
"""Endings of `.env.example` and similar files, which are shown and not secret."""

SHOWN_OWN_FILES: Final = (
    *("skills", "prompts", "rules", "themes", "packages", "extensions"),
    *("AGENTS.md", "CLAUDE.md", "SYSTEM.md", "APPEND_SYSTEM.md", "settings.json", "keybindings.json"),
)
"""Files in bayou's own folder that are shown: readable user files, and settings without keys. Everything else there
is secret."""
