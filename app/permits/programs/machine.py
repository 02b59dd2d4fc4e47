"""Programs that reach for the machine: rights, services, users, disks, processes of others."""

import re

from app.permits.calls import Call, Judge, Table, Usual, always, asks_for_help, table
from app.permits.letters import Finding
from app.permits.programs.verbs import words_of


def _kill(call: Call) -> list[Finding]:
    words = call.words
    if words and words[0].text in ("-l", "-L"):
        return [Finding("R", "lists signals")]
    targets = [word for word in words[1:] if re.fullmatch(r"-\d+", word.text)]
    if any(word.text in ("-1", "-0") for word in targets) or any(word.text == "1" for word in words):
        return [Finding("F", "signals every process")]
    return [Finding("X", "signals a process")]


def _systemctl(call: Call) -> list[Finding]:
    words = words_of(call)
    reads = (
        "status",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "is-failed",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-dependencies",
        "list-sockets",
        "get-default",
    )
    if not words or words[0].text in reads:
        return [Finding("R", "only looks")]
    return [Finding("F", "changes services")]


def _service(call: Call) -> list[Finding]:
    words = words_of(call)
    if any(word.text == "--status-all" for word in call.words) or (
        len(words) == 2 and words[1].text == "status"
    ):
        return [Finding("R", "only looks")]
    return [Finding("F", "changes services")]


def _crontab(call: Call) -> list[Finding]:
    if [word.text for word in call.words] == ["-l"]:
        return [Finding("R", "lists what runs later")]
    return [Finding("F", "changes what runs later")]


def looks_without(*verbs: str) -> Judge:
    """Bare it looks; with a word it changes the machine."""

    def judge(call: Call) -> list[Finding]:
        words = words_of(call)
        if asks_for_help(call) or not words or words[0].text in verbs:
            return [Finding("R", "only looks")]
        return [Finding("F", f"{call.name} changes the machine")]

    return judge


def _sysctl(call: Call) -> list[Finding]:
    if any(
        word.text.startswith(("-w", "-p", "--write", "--load", "--system")) or "=" in word.text
        for word in call.words
    ):
        return [Finding("F", "changes the machine")]
    return [Finding("R", "only looks")]


_RIGHTS = always("F", "runs with other rights")
_MACHINE = always("F", "changes the machine")
MACHINE: Table = table(
    (
        "su pkexec runuser chroot nsenter unshare setpriv capsh sudoedit visudo gosu run0 newgrp sg "
        "machinectl",
        _RIGHTS,
    ),
    (
        "mkfs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs mkswap fdisk parted sfdisk "
        "gdisk wipefs badblocks hdparm cryptsetup lvcreate lvremove vgremove pvremove mdadm zpool zfs "
        "diskutil losetup swapon swapoff tune2fs resize2fs blkdiscard",
        always("F", "changes disks"),
    ),
    ("mknod", always("F", "makes devices")),
    ("reboot shutdown halt poweroff init telinit kexec", always("F", "stops the machine")),
    (
        "useradd userdel usermod groupadd groupdel groupmod addgroup delgroup adduser deluser passwd "
        "chpasswd chsh chfn "
        "gpasswd vipw",
        always("F", "changes users"),
    ),
    (
        "iptables ip6tables nft ufw firewall-cmd ebtables pfctl tc",
        always("F", "changes the network of the machine"),
    ),
    (
        "modprobe insmod rmmod depmod dmsetup setenforce semanage update-alternatives "
        "update-rc.d chkconfig rc-update hwclock "
        "grub-install update-grub efibootmgr kextload csrutil nvram spctl defaults scutil networksetup dscl "
        "tccutil udevadm setx reg eventcreate wevtutil netsh schtasks icacls takeown bcdedit diskpart sc",
        _MACHINE,
    ),
    ("launchctl at batch atrm systemd-run", always("F", "changes what runs later")),
    ("pkill killall skill xkill", always("F", "signals processes by their names, also of others")),
    ("kill", _kill),
    ("systemctl", _systemctl),
    ("service rc-service", _service),
    ("crontab", _crontab),
    ("mount umount", looks_without("-l")),
    ("hostnamectl timedatectl localectl loginctl", looks_without("status", "show", "list-sessions")),
    ("sysctl", _sysctl),
    ("dmesg last lastlog lsmod modinfo", Usual(why="only looks", operands="text", options="C:F c:F clear:F")),
)
