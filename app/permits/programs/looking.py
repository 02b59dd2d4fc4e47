"""Programs that only look, at files or at the machine.

One stands here only if none of its options runs, writes or sends anything that its row does not name.
"""

from app.permits.calls import Table, Usual, table

_SAYS = Usual(why="only says something", operands="text")
_MACHINE = Usual(why="only looks", operands="text")

LOOKING: Table = table(
    # At the machine
    (
        "lsb_release lsmem lsns lsfd lsipc lslocks lslogins lsscsi lsdev findmnt mountpoint "
        "pwdx "
        "mpstat slabtop acpi laptop-detect on_ac_power systemd-detect-virt virt-what kvm-ok ipcs routel "
        "runlevel "
        "getcap getsebool getenforce sestatus selinuxenabled systemd-cgls vm_stat "
        "fincore filefrag",
        _MACHINE,
    ),
    ("uuidgen mcookie isosize errno getopt gettext", _SAYS),
    (
        "llvm-config pg_config python-config python3-config php-config xml2-config sdl2-config mysql_config "
        "curl-config "
        "gpg-error-config freetype-config libpng-config pcre2-config ncursesw6-config",
        _SAYS,
    ),
    ("pkg-config pkgconf", Usual(why="only says something", operands="text", options="log-file=:write")),
    # At files
    ("b3sum xxhsum xxh64sum xxh128sum", Usual(options="c= l= num-threads=")),
    (
        "hexyl",
        Usual(options="n= c= s= o= b= length= bytes= skip= block-size= display-offset= border= color="),
    ),
    ("shuf", Usual(options="o=:write output=:write random-source=:read n= head-count= i= input-range= e:R")),
    ("diffstat", Usual(options="d= D= e=:write f= k= l= n= N= o=:write p= q= r= s= S= t= T= u= w=")),
    ("colrm", Usual(operands="text")),
    ("col colcrt ul", Usual()),
    ("zipinfo", Usual(operands="read", options="x=")),
    ("pdfinfo pdffonts", Usual(options="f= l= enc= opw= upw=")),
    ("csvcut csvgrep csvlook csvstat csvsort", Usual(options="c= C= d= q= e= m= r= f=:read z= l u= p=")),
    ("zdiff zcmp bzdiff bzcmp xzdiff xzcmp lzcmp lzdiff", Usual(options="U= C= W= I= x= X=:read")),
    ("lzcat lz4cat", Usual()),
)
