"""Dangerous programs, which a sandbox cannot limit: privileges, code that runs later, shared services, data loss."""

import re
from typing import Final

from app.permits.command_findings import Finding, contained, forbidden
from app.permits.programs.calls import (
    JudgeProgram,
    ProgramCall,
    ProgramTable,
    always_finding,
    judge_by_verb,
    program_table,
)
from app.permits.programs.options import option_row, parse_options
from app.permits.shell_words import UNKNOWN, Word, word_set

_GAINS_PRIVILEGES: Final = always_finding(forbidden("runs as another user"))
_CHANGES_DELAYED_RUN: Final = always_finding(forbidden("changes files that run later"))
_CHANGES_MACHINE: Final = always_finding(forbidden("changes the system"))


def forbidden_verbs(verbs: str, why: str, *, bare: bool = False) -> JudgeProgram:
    """Makes a judge that forbids these verbs."""
    return judge_by_verb(verbs, why, forbidden, bare=bare)


def _forbidden_except(verbs: str, why: str) -> JudgeProgram:
    """Makes a judge that forbids every verb except these; asking for help is allowed."""
    known = word_set(verbs)

    def judge(call: ProgramCall) -> list[Finding]:
        said = [word.text for word in call.words if not word.text.startswith("-") or word.text in known]
        if not said or {said[0], "-".join(said[:2])} & known:
            return []
        return [forbidden(f"{call.name} {' '.join(said[:2])} {why}")]

    return judge


_ACTS_ON_SHARED_SERVICE: Final = "acts for you on what others use"
_CLOUD_READS: Final = re.compile(
    r"(list|ls|get|describe|show|head|view|status|whoami|search|lookup|batch-get|scan|query|filter|tail|logs|info|version|help"
    r"|cp|sync|config|configure|sso|login)(-.*|s)?"
)


def _cloud(call: ProgramCall) -> list[Finding]:
    """Judges `aws`, `gcloud`, `az`: every verb that does not clearly read is treated as a change."""
    said = [word.text for word in call.words if not word.text.startswith("-")]
    tells = any(
        word in ("get-secret-value", "print-access-token", "get-login-password", "secrets") for word in said
    )
    if tells or (len(said) > 1 and not any(_CLOUD_READS.fullmatch(word) for word in said[1:4])):
        return [forbidden(f"{call.name} {' '.join(said[:3])} {_ACTS_ON_SHARED_SERVICE}")]
    return []


_HOSTING_READS: Final = word_set(
    "view list status diff checks ls show search browse clone checkout download get watch"
)


def _hosting(call: ProgramCall) -> list[Finding]:
    """Judges `gh`, `glab`: what other people will see is dangerous."""
    taken = parse_options(
        call.words,
        option_row("R= repo= q= jq= X= method= f= F= field= raw-field= input= H= t= L= limit= json="),
    )
    said = [word.text for word in taken.operands]
    if not said or said[0] in word_set("help version completion status search browse extension alias"):
        return []
    if said[0] == "api":
        method = (taken.values("X", "method") or [Word("GET")])[-1].text.upper()
        fields = [value.text for value in taken.values("f", "F", "field", "raw-field")]
        is_query = "graphql" in said and not any("mutation" in text or UNKNOWN in text for text in fields)
        changes = method != "GET" or (
            (fields or taken.has("input")) and not is_query and not taken.has("X", "method")
        )
        return [forbidden("sends a request that changes data on a server")] if changes else []
    if said[0] == "auth" and said[1:2] == ["status"]:
        return []
    if len(said) < 2 or said[1] in _HOSTING_READS:
        return []
    return [forbidden(f"{call.name} {' '.join(said[:2])} {_ACTS_ON_SHARED_SERVICE}")]


def _container(call: ProgramCall) -> list[Finding]:
    """Judges `docker`: pushing images, deleting volumes and giving containers access to the machine are dangerous."""
    joined = " ".join(word.text for word in call.words)
    found = forbidden_verbs(
        "push system-prune volume-prune volume-rm image-push compose-push manifest-push buildx-prune "
        "swarm secret stack "
        "service node context",
        _ACTS_ON_SHARED_SERVICE,
    )(call)
    if re.search(
        r"(?:^| )(?:--privileged|--cap-add|--device|--security-opt|--volumes-from|--push)\b", joined
    ):
        found.append(forbidden("gives a container access to the machine, or publishes an image"))
    if re.search(r"--(?:pid|ipc|uts|userns|cgroupns|network|net)[= ]host\b", joined):
        found.append(forbidden("gives a container access to the machine"))
    for path in re.findall(r"(?:^| )(?:-v|--volume|--mount)[ =](?:\S*?(?:src|source)=)?([^\s:,]+)", joined):
        if path.startswith(("/", ".", "~")) and ("docker.sock" in path or call.ground.is_outside(Word(path))):
            found.append(forbidden(f"gives a container access to {call.ground.display_path(path)}"))
    return found


def _crontab(call: ProgramCall) -> list[Finding]:
    lists = [word.text for word in call.words] == ["-l"]
    return [
        contained("lists scheduled commands (cron)") if lists else forbidden("changes files that run later")
    ]


_PUBLISHES: Final = "publishes, or acts for you on what others use"
DANGEROUS_PROGRAMS: ProgramTable = program_table(
    (
        "su pkexec runuser chroot nsenter setpriv sudoedit visudo gosu run0 newgrp sg machinectl",
        _GAINS_PRIVILEGES,
    ),
    (
        "mkfs mkfs.ext4 mkfs.ext3 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs mkswap fdisk parted sfdisk gdisk wipefs hdparm "
        "cryptsetup lvremove vgremove pvremove mdadm zpool zfs diskutil losetup blkdiscard mknod",
        always_finding(forbidden("changes disks or partitions")),
    ),
    (
        "reboot shutdown halt poweroff init telinit kexec",
        always_finding(forbidden("shuts down or restarts the machine")),
    ),
    (
        "useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd chsh vipw gpasswd",
        _CHANGES_MACHINE,
    ),
    (
        "iptables ip6tables nft ufw firewall-cmd pfctl tc modprobe insmod rmmod setenforce update-alternatives",
        _CHANGES_MACHINE,
    ),
    ("launchctl at batch atrm systemd-run husky simple-git-hooks", _CHANGES_DELAYED_RUN),
    ("crontab", _crontab),
    (
        "systemctl",
        _forbidden_except(
            "status show cat is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets",
            "changes services",
        ),
    ),
    ("service rc-service", _forbidden_except("--status-all", "changes services")),
    ("mount umount", _forbidden_except("", "changes disks or partitions")),
    (
        "dpkg rpm snap flatpak port",
        _forbidden_except("-l -L -S -s -q -qa -ql -qi list info search", "changes the system"),
    ),
    (
        "apt apt-get aptitude dnf yum apk pacman zypper",
        _forbidden_except(
            "list search show info policy download source changelog depends", "changes the system"
        ),
    ),
    (
        "pre-commit lefthook",
        forbidden_verbs("install uninstall init-templatedir", "changes what git runs later"),
    ),
    ("direnv", forbidden_verbs("allow permit grant", "lets a folder run code later")),
    ("mail mailx sendmail mutt msmtp wall", always_finding(forbidden("sends a message to other people"))),
    (
        "ngrok localtunnel lt cloudflared tmate",
        always_finding(forbidden("opens this machine to the network")),
    ),
    # Publishing, and services with credentials
    (
        "npm pnpm yarn bun",
        forbidden_verbs("publish unpublish deprecate dist-tag owner access token adduser", _PUBLISHES),
    ),
    ("lerna changeset", forbidden_verbs("publish version", _PUBLISHES)),
    ("twine", forbidden_verbs("upload register", _PUBLISHES)),
    ("poetry pdm hatch flit uv", forbidden_verbs("publish", _PUBLISHES)),
    ("cargo", forbidden_verbs("publish yank owner login", _PUBLISHES)),
    ("gem", forbidden_verbs("push yank owner signin", _PUBLISHES)),
    ("dotnet nuget", forbidden_verbs("nuget-push nuget-delete push delete", _PUBLISHES)),
    ("mix", forbidden_verbs("hex.publish", _PUBLISHES)),
    (
        "mvn mvnw gradle gradlew sbt",
        forbidden_verbs("deploy publish release:perform uploadArchives", _PUBLISHES),
    ),
    ("vsce ovsx", forbidden_verbs("publish unpublish login", _PUBLISHES)),
    ("docker podman", _container),
    ("gh glab", _hosting),
    ("aws gcloud az", _cloud),
    (
        "kubectl oc",
        _forbidden_except(
            "get describe logs top version api-resources api-versions cluster-info explain events diff auth wait "
            "config-view config-get-contexts config-current-context port-forward kustomize completion",
            _ACTS_ON_SHARED_SERVICE,
        ),
    ),
    (
        "helm",
        _forbidden_except(
            "lint template version show search list ls status get history repo dependency create package env",
            _ACTS_ON_SHARED_SERVICE,
        ),
    ),
    (
        "terraform tofu pulumi cdk",
        forbidden_verbs("apply destroy up deploy import taint state-rm state-mv", _ACTS_ON_SHARED_SERVICE),
    ),
    ("ansible-playbook ansible", _forbidden_except("", _ACTS_ON_SHARED_SERVICE)),
    (
        "heroku flyctl fly railway render doctl",
        _forbidden_except("apps logs ps status info list version whoami releases", _ACTS_ON_SHARED_SERVICE),
    ),
    (
        "netlify wrangler firebase serverless sls",
        forbidden_verbs("deploy publish delete rm remove env secret", _ACTS_ON_SHARED_SERVICE),
    ),
    ("vercel", forbidden_verbs("deploy remove rm env secrets domains", _ACTS_ON_SHARED_SERVICE, bare=True)),
)
