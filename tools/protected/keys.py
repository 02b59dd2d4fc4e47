"""Places of keys: one table for the gate, which asks before they are read, and for the sandbox, which hides them.

A row says where a program keeps what signs a person in, and which manual says so. Plain data; `app.permits.secrets`
judges paths by it, `app.engine.sandbox.sandbox_places` hides what is there of it.
"""

from typing import Final

import msgspec


class PlaceOfKeys(msgspec.Struct, frozen=True):
    path: str
    """Below the home folder, as it is written there. With a slash at its end: a folder, with all that is in it."""
    source: str
    """The program, and where its manual names this place."""
    programs: tuple[str, ...] = ()
    """Programs that see it in the sandbox when they were let into the network."""

    @property
    def name(self) -> str:
        return self.path.rstrip("/")

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


class KeyName(msgspec.Struct, frozen=True):
    name: str
    """In any folder. With `*` before it: the end of the name."""
    source: str
    programs: tuple[str, ...] = ()
    """As with a `PlaceOfKeys`, for the file of that name in the home folder."""


_PYTHON = ("pip", "pip3", "uv")
_NODE = ("npm", "npx", "pnpm", "yarn")
_SSH = ("git", "ssh", "scp", "sftp", "rsync", "ssh-add")

KEY_PLACES: Final = (
    # keys and passwords of the person
    PlaceOfKeys(".ssh/", "OpenSSH: ssh(1), FILES", _SSH),
    PlaceOfKeys(".gnupg/", "GnuPG: gpg(1), --homedir"),
    PlaceOfKeys(".password-store/", "pass(1), ENVIRONMENT"),
    PlaceOfKeys(".local/share/keyrings/", "GNOME Keyring: login keyring"),
    PlaceOfKeys(".local/share/kwalletd/", "KWallet: kwalletd"),
    PlaceOfKeys("Library/Keychains/", "macOS: security(1)"),
    PlaceOfKeys(".config/op/", "1Password CLI: op, configuration directories"),
    PlaceOfKeys(".config/Bitwarden CLI/", "Bitwarden CLI: data.json"),
    PlaceOfKeys(".config/sops/age/", "SOPS: age key file"),
    PlaceOfKeys(".config/age/", "age: identity files"),
    PlaceOfKeys(".authinfo", "Emacs auth-source: auth-sources"),
    PlaceOfKeys(".authinfo.gpg", "Emacs auth-source: auth-sources"),
    PlaceOfKeys(".smbcredentials", "mount.cifs(8), credentials"),
    PlaceOfKeys(".vault_pass", "Ansible: vault password files"),
    PlaceOfKeys(".ansible/galaxy_token", "Ansible: GALAXY_TOKEN_PATH"),
    # clouds
    PlaceOfKeys(".aws/", "AWS CLI: configuration and credential files", ("aws", "kubectl")),
    PlaceOfKeys(".azure/", "Azure CLI: AZURE_CONFIG_DIR", ("az",)),
    PlaceOfKeys(".config/gcloud/", "gcloud: configuration directory", ("gcloud", "gsutil", "kubectl")),
    PlaceOfKeys(".oci/", "OCI CLI: SDK and CLI configuration file"),
    PlaceOfKeys(".aliyun/", "Alibaba Cloud CLI: configure"),
    PlaceOfKeys(".bluemix/", "IBM Cloud CLI: IBMCLOUD_HOME"),
    PlaceOfKeys(".config/doctl/", "doctl: config.yaml"),
    PlaceOfKeys(".config/hcloud/", "hcloud: cli.toml"),
    PlaceOfKeys(".config/linode-cli", "linode-cli: configuration"),
    PlaceOfKeys(".config/scw/", "Scaleway CLI: config.yaml"),
    PlaceOfKeys(".config/rclone/", "rclone: config file"),
    PlaceOfKeys(".rclone.conf", "rclone: config file, older place"),
    PlaceOfKeys(".config/s3cmd/", "s3cmd: configuration"),
    PlaceOfKeys(".mc/", "MinIO client: config.json"),
    PlaceOfKeys(".config/configstore/", "firebase-tools and others: configstore"),
    PlaceOfKeys(".netlify/", "Netlify CLI: config.json"),
    PlaceOfKeys(".config/netlify/", "Netlify CLI: config.json"),
    PlaceOfKeys(".local/share/com.vercel.cli/", "Vercel CLI: global configuration"),
    PlaceOfKeys("Library/Application Support/com.vercel.cli/", "Vercel CLI: global configuration"),
    PlaceOfKeys(".fly/", "flyctl: config.yml"),
    PlaceOfKeys(".railway/", "Railway CLI: config.json"),
    PlaceOfKeys(".wrangler/", "Cloudflare Wrangler: config/default.toml"),
    PlaceOfKeys(".config/.wrangler/", "Cloudflare Wrangler: config/default.toml"),
    PlaceOfKeys(".cloudflared/", "cloudflared: cert.pem and tunnel credentials"),
    PlaceOfKeys(".ngrok2/", "ngrok: ngrok.yml, version 2"),
    PlaceOfKeys(".config/ngrok/", "ngrok: ngrok.yml"),
    PlaceOfKeys(".expo/", "Expo CLI: state.json"),
    # machines and services
    PlaceOfKeys(".kube/", "kubectl: kubeconfig files", ("kubectl", "helm")),
    PlaceOfKeys(".config/helm/", "Helm: HELM_CONFIG_HOME", ("helm",)),
    PlaceOfKeys(".config/argocd/", "argocd: config"),
    PlaceOfKeys(".docker/config.json", "Docker CLI: config.json", ("docker", "podman")),
    PlaceOfKeys(".config/containers/auth.json", "containers-auth.json(5)", ("podman",)),
    PlaceOfKeys(".terraform.d/credentials.tfrc.json", "Terraform: CLI configuration, credentials"),
    PlaceOfKeys(".pulumi/credentials.json", "Pulumi: pulumi login"),
    PlaceOfKeys(".chef/", "Chef: credentials"),
    PlaceOfKeys(".sentryclirc", "sentry-cli: configuration"),
    PlaceOfKeys(".snowflake/", "Snowflake CLI: connections.toml"),
    PlaceOfKeys(".snowsql/", "SnowSQL: config"),
    PlaceOfKeys(".dbt/profiles.yml", "dbt: profiles.yml"),
    PlaceOfKeys(".mylogin.cnf", "mysql_config_editor(1)"),
    PlaceOfKeys(".huggingface/", "huggingface_hub: HF_HOME, older place"),
    PlaceOfKeys(".cache/huggingface/token", "huggingface_hub: HF_TOKEN_PATH"),
    PlaceOfKeys(".cache/huggingface/stored_tokens", "huggingface_hub: HF_STORED_TOKENS_PATH"),
    PlaceOfKeys(".kaggle/", "Kaggle API: kaggle.json"),
    PlaceOfKeys(".config/io.datasette.llm/keys.json", "llm: keys set"),
    # forges and version control
    PlaceOfKeys(".config/gh/", "GitHub CLI: GH_CONFIG_DIR", ("gh", "git")),
    PlaceOfKeys(".config/glab-cli/", "GitLab CLI: config.yml"),
    PlaceOfKeys(".config/hub", "hub(1), configuration"),
    PlaceOfKeys(".config/tea/", "Gitea tea: config.yml"),
    PlaceOfKeys(".config/git/credentials", "git-credential-store(1), FILES", ("git",)),
    PlaceOfKeys(".subversion/auth/", "Subversion: runtime configuration area"),
    # package managers
    PlaceOfKeys(".cargo/credentials", "Cargo: credentials, older name"),
    PlaceOfKeys(".cargo/credentials.toml", "Cargo: credentials"),
    PlaceOfKeys(".gem/credentials", "RubyGems: gem signin"),
    PlaceOfKeys(".local/share/gem/credentials", "RubyGems: gem signin"),
    PlaceOfKeys(".bundle/config", "Bundler: bundle config"),
    PlaceOfKeys(".composer/auth.json", "Composer: authentication"),
    PlaceOfKeys(".config/composer/auth.json", "Composer: authentication"),
    PlaceOfKeys(".config/pypoetry/auth.toml", "Poetry: repositories, credentials"),
    PlaceOfKeys("Library/Application Support/pypoetry/auth.toml", "Poetry: repositories, credentials"),
    PlaceOfKeys(".config/pdm/", "PDM: configuration, repository.*.password"),
    PlaceOfKeys(".local/share/uv/credentials/", "uv: authentication, credentials directory"),
    PlaceOfKeys(".config/anaconda-client/", "anaconda-client: tokens"),
    PlaceOfKeys(".continuum/", "anaconda-client: tokens"),
    PlaceOfKeys(".yarnrc.yml", "Yarn: npmAuthToken", _NODE),
    PlaceOfKeys(".config/pnpm/rc", "pnpm: .npmrc, global configuration", _NODE),
    PlaceOfKeys(".gradle/gradle.properties", "Gradle: build environment, GRADLE_USER_HOME"),
    PlaceOfKeys(".m2/settings.xml", "Maven: settings reference, servers"),
    PlaceOfKeys(".m2/settings-security.xml", "Maven: password encryption"),
    PlaceOfKeys(".ivy2/.credentials", "sbt: publishing, credentials"),
    PlaceOfKeys(".sbt/.credentials", "sbt: publishing, credentials"),
    PlaceOfKeys(".nuget/NuGet/NuGet.Config", "NuGet: nuget.config, packageSourceCredentials"),
    PlaceOfKeys(".config/NuGet/NuGet.Config", "NuGet: nuget.config, packageSourceCredentials"),
    PlaceOfKeys(".hex/hex.config", "Hex: mix hex.user auth"),
    PlaceOfKeys(".config/dart/pub-credentials.json", "Dart pub: pub login"),
    PlaceOfKeys(".pub-cache/credentials.json", "Dart pub: pub login, older place"),
    PlaceOfKeys(".pause", "cpan-upload: configuration"),
    # mail and messages
    PlaceOfKeys(".thunderbird/", "Thunderbird: profiles"),
    PlaceOfKeys(".msmtprc", "msmtp: configuration files"),
    PlaceOfKeys(".mbsyncrc", "mbsync(1), FILES"),
    PlaceOfKeys(".offlineimaprc", "OfflineIMAP: configuration"),
    PlaceOfKeys(".fetchmailrc", "fetchmail(1), run control file"),
    PlaceOfKeys(".purple/", "libpurple: accounts.xml"),
    PlaceOfKeys(".config/Slack/", "Slack: Electron user data"),
    PlaceOfKeys(".config/discord/", "Discord: Electron user data"),
    PlaceOfKeys(".config/Signal/", "Signal Desktop: config.json"),
    # browsers
    PlaceOfKeys(".mozilla/", "Firefox: profiles"),
    PlaceOfKeys(".librewolf/", "LibreWolf: profiles"),
    PlaceOfKeys(".waterfox/", "Waterfox: profiles"),
    PlaceOfKeys(".zen/", "Zen Browser: profiles"),
    PlaceOfKeys(".config/google-chrome/", "Chrome: user data directory"),
    PlaceOfKeys(".config/google-chrome-beta/", "Chrome: user data directory"),
    PlaceOfKeys(".config/google-chrome-unstable/", "Chrome: user data directory"),
    PlaceOfKeys(".config/chromium/", "Chromium: user data directory"),
    PlaceOfKeys(".config/BraveSoftware/", "Brave: user data directory"),
    PlaceOfKeys(".config/microsoft-edge/", "Edge: user data directory"),
    PlaceOfKeys(".config/opera/", "Opera: user data directory"),
    PlaceOfKeys(".config/vivaldi/", "Vivaldi: user data directory"),
    PlaceOfKeys("snap/firefox/", "Firefox as a snap: profiles"),
    PlaceOfKeys("snap/chromium/", "Chromium as a snap: user data directory"),
    PlaceOfKeys("snap/brave/", "Brave as a snap: user data directory"),
    PlaceOfKeys(".var/app/org.mozilla.firefox/", "Firefox as a Flatpak: profiles"),
    PlaceOfKeys(".var/app/org.mozilla.Thunderbird/", "Thunderbird as a Flatpak: profiles"),
    PlaceOfKeys(".var/app/io.gitlab.librewolf-community/", "LibreWolf as a Flatpak: profiles"),
    PlaceOfKeys(".var/app/com.google.Chrome/", "Chrome as a Flatpak: user data directory"),
    PlaceOfKeys(".var/app/org.chromium.Chromium/", "Chromium as a Flatpak: user data directory"),
    PlaceOfKeys(".var/app/com.brave.Browser/", "Brave as a Flatpak: user data directory"),
    PlaceOfKeys(".var/app/com.microsoft.Edge/", "Edge as a Flatpak: user data directory"),
    PlaceOfKeys("Library/Application Support/Google/Chrome/", "Chrome: user data directory"),
    PlaceOfKeys("Library/Application Support/Chromium/", "Chromium: user data directory"),
    PlaceOfKeys("Library/Application Support/Firefox/", "Firefox: profiles"),
    PlaceOfKeys("Library/Application Support/BraveSoftware/", "Brave: user data directory"),
    PlaceOfKeys("Library/Application Support/Microsoft Edge/", "Edge: user data directory"),
    PlaceOfKeys("Library/Application Support/Arc/", "Arc: user data directory"),
    PlaceOfKeys("Library/Application Support/Vivaldi/", "Vivaldi: user data directory"),
    PlaceOfKeys("Library/Application Support/com.operasoftware.Opera/", "Opera: user data directory"),
    PlaceOfKeys("Library/Safari/", "Safari: databases"),
    PlaceOfKeys("Library/Cookies/", "macOS: cookies of programs"),
    # wallets
    PlaceOfKeys(".bitcoin/", "Bitcoin Core: data directory"),
    PlaceOfKeys(".electrum/", "Electrum: wallets"),
    PlaceOfKeys(".ethereum/keystore/", "Geth: account management"),
    PlaceOfKeys(".foundry/keystores/", "Foundry: cast wallet"),
    PlaceOfKeys(".config/solana/", "Solana CLI: id.json"),
    # agents
    PlaceOfKeys(".bayou/agent/auth.json", "bayou: bayou auth"),
    PlaceOfKeys(".bayou/agent/mcp-auth.json", "bayou: sign-ins to MCP servers"),
    PlaceOfKeys(".bayou/agent/mcp.json", "bayou: MCP servers and their keys"),
    PlaceOfKeys(".bayou/agent/models.json", "bayou: models and their keys"),
    PlaceOfKeys(".pi/agent/auth.json", "pi: authentication"),
    PlaceOfKeys(".claude/.credentials.json", "Claude Code: credential management"),
    PlaceOfKeys(".claude.json", "Claude Code: global configuration, with servers and their keys"),
    PlaceOfKeys(".codex/auth.json", "Codex CLI: authentication"),
    PlaceOfKeys(".gemini/oauth_creds.json", "Gemini CLI: authentication"),
    PlaceOfKeys(".qwen/oauth_creds.json", "Qwen Code: authentication"),
    PlaceOfKeys(".local/share/opencode/auth.json", "opencode: auth login"),
    PlaceOfKeys(".local/share/opencode/mcp-auth.json", "opencode: mcp auth"),
    PlaceOfKeys(".local/share/amp/secrets.json", "Amp: secrets"),
    PlaceOfKeys(".local/share/crush/crush.json", "Crush: API keys"),
    PlaceOfKeys(".config/goose/secrets.yaml", "goose: secrets without a keyring"),
    PlaceOfKeys(".config/github-copilot/", "GitHub Copilot: apps.json, hosts.json"),
    PlaceOfKeys(".aider.conf.yml", "aider: configuration with keys"),
    PlaceOfKeys(".continue/config.yaml", "Continue: models and their keys"),
    PlaceOfKeys(".continue/config.json", "Continue: models and their keys"),
    PlaceOfKeys(".cursor/mcp.json", "Cursor: servers and their keys"),
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
"""Of `.env.example` and its like: shown, not secret."""

SHOWN_OF_OWN: Final = (
    *("skills", "prompts", "rules", "themes", "packages", "extensions"),
    *("AGENTS.md", "CLAUDE.md", "SYSTEM.md", "APPEND_SYSTEM.md", "settings.json", "keybindings.json"),
)
"""In bayou's own folder, all else in which is secret: what a person put there to be read, and settings without keys."""
