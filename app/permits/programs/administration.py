"""Programs that change the machine itself: its disks, its start, its users, its network, its desktop's settings."""

from app.permits.calls import Call, Table, Usual, always, asks_for_help, table
from app.permits.letters import Finding
from app.permits.programs.by_verb import by_verb
from app.permits.programs.machine import looks_without


def _changes(what: str) -> Usual:
    return always("F", f"changes {what}")


_NETWORK = by_verb(other="F", bare="F", reads="status list show help version netcheck link-show reg-get")


def _network(call: Call) -> list[Finding]:
    """It changes the network, but for these words."""
    why = f"{call.name} changes the network of the machine"
    return [Finding("F", why) if one.letter == "F" else one for one in _NETWORK(call)]


def _print_path(call: Call) -> list[Finding]:
    asks = [word.text for word in call.words] in (["-p"], ["--print-path"]) or asks_for_help(call)
    return [Finding("R", "only looks") if asks else Finding("F", "chooses which tools the machine has")]


ADMINISTRATION: Table = table(
    # Disks
    (
        "mkfs.bcachefs mkfs.cramfs mkfs.erofs mkfs.exfat mkfs.f2fs mkfs.fat mkfs.minix mkfs.ntfs mkfs.msdos "
        "mkdosfs mkntfs mkexfatfs mklost+found cfdisk sgdisk cgdisk fsck fsck.ext4 fsck.vfat fsck.xfs "
        "e2fsck e2label e2image e2undo e4defrag xfs_repair xfs_admin xfs_growfs ntfsfix ntfsresize fatlabel "
        "exfatlabel mlabel tune.exfat swaplabel fstrim fsadm debugfs growpart partprobe partx addpart "
        "delpart kpartx blkpr blockdev bcachefs btrfs stratis lvm lvchange lvconvert lvextend lvreduce "
        "lvrename lvresize lvm_import_vdo lvmdevices lvmpersist pvchange pvcreate pvck pvmove pvresize "
        "vgchange vgcreate vgextend vgreduce vgrename vgcfgrestore nvme nwipe sfill srm testdisk photorec "
        "extundelete ddrescue dcfldd partclone clonezilla bmaptool caligula rpi-imager ventoy woeusb "
        "etcher-cli f3write f3fix f3probe hd-idle hdiutil asr xmount zramctl quotaon quotaoff quotacheck "
        "edquota setquota nbd-client qemu-nbd veracrypt tcplay encfs cryfs gocryptfs bindfs fusermount "
        "fusermount3 archivemount jmtpfs simple-mtpfs mount.cifs mount.nfs mount.ntfs-3g ntfs-3g squashfuse "
        "udiskie-mount udiskie-umount pmount pumount systemd-mount systemd-umount automount eject cdrecord "
        "wodim cdrdao growisofs flashrom fwupdtool sg_raw sg_format ndctl ledctl pivot_root switch_root",
        _changes("disks"),
    ),
    # What a board or a device runs
    (
        "esptool esptool.py espefuse.py dfu-util dfu-programmer avrdude st-flash bossac picotool "
        "rkdeveloptool fastboot heimdall uhubctl minipro nrfjprog pyocd JLinkExe probe-rs probe-rs-cli "
        "openocd teensy_loader_cli wchisp stm32flash STM32_Programmer_CLI cc-tool mspdebug bootterm rauc "
        "swupdate",
        always("X", "reads or writes a device"),
    ),
    # How it starts, and with what
    (
        "bootctl kernel-install kernelstub mkinitcpio mkinitfs dracut update-initramfs genkernel "
        "grub-mkconfig grub2-mkconfig grub2-install grub-reboot grub-set-default grub-editenv "
        "grub-bios-setup grubby limine limine-enroll-config lilo sbctl mokutil efivar dkms akmods kmutil "
        "kextunload kmod rtcwake systemd-firstboot systemd-machine-id-setup systemd-repart systemd-sysusers "
        "systemd-tmpfiles systemd-cryptenroll systemd-cryptsetup systemd-sysext systemd-confext "
        "systemd-creds systemd-nspawn ukify steamos-readonly steamos-devmode steamos-update "
        "rpi-eeprom-update raspi-config ctrlaltdel chmem chcpu cpupower cpufreq-set tlp tuned-adm "
        "auto-cpufreq powerprofilesctl pmset choom update-ca-certificates update-ca-trust "
        "update-desktop-database update-mime-database ldconfig locale-gen localedef dpkg-reconfigure "
        "dpkg-divert dpkg-statoverride tzselect tzconfig ntpd ntpdate chronyd htpdate sntpd logrotate "
        "auditctl xcodes nixos-rebuild darwin-rebuild home-manager nix-collect-garbage freebsd-update "
        "abroot bootc ostree mhwd mhwd-kernel ubuntu-drivers do-release-upgrade deb-get gdebi debootstrap "
        "mmdebstrap alien apt-clone archinstall pacstrap arch-chroot setup-alpine lbu synopkg synoupgrade "
        "topgrade owut pkcon pamac octopi nala apt-add-repository dnf4 dnf5 urpme urpmi.addmedia "
        "urpmi.removemedia urpmi.update installpkg removepkg upgradepkg explodepkg slapt-get slapt-src "
        "pkgadd pkgrm pkgtool prt-get pacman-key pacman-mirrors rankmirrors reflector paccache pacdiff "
        "repo-add repo-remove trizen pacaur aura aurman yaourt rpmkeys rpmconf pikaur eselect emaint ebuild "
        "eclean dispatch-conf etc-update layman apx pikman wajig pkgz oma unattended-upgrade needrestart "
        "xbps-reconfigure xbps-alternatives",
        _changes("the machine"),
    ),
    # Who may what
    (
        "chage chpass chntpw vigr pwck grpck pwconv pwunconv newusers homectl lchage lpasswd luseradd "
        "smbpasswd pdbedit faillock fprintd-enroll fprintd-delete sulogin pwpolicy dsconfigldap dseditgroup "
        "sysadminctl authconfig authselect pam-auth-update pam_tally2 setcap setfattr setsebool "
        "togglesebool semodule chcon restorecon fixfiles setfiles chcat aa-enforce aa-complain aa-disable "
        "aa-teardown aa-audit aa-genprof aa-logprof apparmor_parser dzdo gksu gksudo kdesu kdesudo "
        "lxqt-sudo beesu run_init newrole runcon tomb fdesetup xauth xhost chflags",
        _changes("who may what"),
    ),
    # Its network
    (
        "ifup ifdown dhclient dhcpcd udhcpc pppd hostapd create_ap wpa_supplicant openvpn openconnect "
        "openfortivpn vpnc ifmetric macchanger wondershaper iptables-restore ip6tables-restore airmon-ng "
        "babeld bird vnstatd arptables xtables nftables setkey nmtui nmtui-connect wg-quick lokkit",
        _changes("the network of the machine"),
    ),
    (
        "iwconfig iw iwctl wpa_cli brctl bridge rfkill wg openvpn3 strongswan ipsec nordvpn protonvpn "
        "mullvad ivpn piactl warp-cli tailscale zerotier-cli netbird nebula netplan resolvconf ipset "
        "conntrack ipvsadm ethtool airport pihole hostess knotc rndc fail2ban-client cscli pivpn ntp-ctl "
        "networkctl",
        _network,
    ),
    (
        "nmcli",
        by_verb(
            other="F",
            reads="general-status device-status device-show connection-show networking-connectivity",
            network="device-wifi",
        ),
    ),
    ("arp", looks_without()),
    ("net", _changes("users, shares or services of the machine")),
    (
        "xcode-select",
        _print_path,
    ),
    # Its services
    (
        "sv svc s6-svc runsv runsvdir supervisord supervisorctl monit initctl rcctl openrc rc-config "
        "a2enmod a2dismod a2ensite a2dissite a2enconf a2disconf apachectl apache2ctl phpenmod phpdismod "
        "postfix gitlab-ctl rabbitmqctl rabbitmq-plugins prosodyctl lpadmin cupsctl cupsenable cupsdisable "
        "cupsaccept cupsreject portablectl importctl udevd uci procd",
        by_verb(
            other="F",
            bare="F",
            code="status -t configtest list_queues list_vhosts avail",
            reads="help version",
        ),
    ),
    ("lp lpr", always("F", "prints on paper")),
    ("cancel lprm lpmove", _changes("what is printed")),
    ("scrontab anacron fcrontab atd", _changes("what runs later")),
    # Its containers and machines
    (
        "lxc incus lxc-create lxc-destroy lxc-start lxc-stop lxc-attach ceph cephadm vmrun prlctl",
        by_verb(other="F", code="list ls info status -list -info", reads="version help"),
    ),
    (
        "pct qm qmrestore vzdump pveum pvesm pvecm pvesh pveam pve-firewall pvesubscription virsh virt-install "
        "virt-clone virt-sysprep virt-xml VBoxManage",
        by_verb(
            other="F",
            reads="list status version help config listsnapshot showcmd domblklist showvminfo",
        ),
    ),
    # A person's own settings
    (
        "dconf gsettings kwriteconfig5 kwriteconfig6 xdg-settings xdg-mime gconftool-2 xfconf-query handlr "
        "duti dockutil mysides dark-mode systemsetup plasma-apply-colorscheme plasma-apply-lookandfeel "
        "lookandfeeltool gnome-extensions spicetify betterdiscordctl balooctl tmutil timeshift snapper",
        by_verb(
            other="F",
            reads="read list get list-keys list-schemas list-recursively range describe "
            "get-default-web-browser query status help version listbackups writable",
        ),
    ),
    (
        "chezmoi yadm vcsh stow homeshick homesick rcup dotbot tuckr fisher omf omz zinit antibody antigen "
        "bash-it",
        by_verb(
            other="F",
            bare="F",
            code="diff data doctor managed source-path status verify unmanaged dump cat list log show",
            reads="help version",
        ),
    ),
)
