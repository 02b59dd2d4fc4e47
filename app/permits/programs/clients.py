"""Programs that do nothing but speak with other machines, whatever their words are."""

from app.permits.calls import Table, always, table

CLIENTS: Table = table(
    (
        # The web
        "lynx links links2 elinks w3m browsh carbonyl curlie wcurl lwp-request lwp-download GET HEAD POST "
        "wuzz http-prompt hurl httprobe httping is-up httrack monolith ruget waymore katana cariddi "
        "hakrawler gau waybackurls megadl megaget megatools gdown gallery-dl instaloader you-get "
        "youtube-viewer ytfzf ytmdl spotdl streamlink animdl ani-cli get_iplayer deemix bdfr llvd nhentai "
        "packtpub subliminal tuitube apkeep depotdownloader quickget zsync smbget trafilatura pageres pake "
        "nativefier eget webtorrent peerflix transmission-cli transmission-remote rtorrent deluge-console "
        "aria2 saldl curl-impersonate prozilla plowdown svtplay-dl lux rtmpdump dget newman bru restish "
        "posting slumber httpyac lighthouse lhci pa11y pa11y-ci backstopjs percy chromatic "
        "broken-link-checker blc muffet linkinator awesome_bot hyperlink wait4x "
        # Names, addresses, reachability
        "adig ahost dog doggo kdig delv dnsx dnsmap dnsrecon dnstracer dnswalk resolveip systemd-resolve "
        "avahi-browse avahi-resolve massdns asnmap ipinfo fping gping nping tcptraceroute trip wakeonlan "
        "wol arp-scan netdiscover nbtscan nmblookup zmap scamper sntp chronyc ntpq spfquery sslscan testssl "
        "testssl.sh sslyze tlsx ssh-keyscan ssh-audit stun iperf iperf3 netperf netserver networkQuality "
        "speedtest-cli speedtest-rs speed-test librespeed-cli masscan rustscan naabu amass subfinder "
        "sublist3r theHarvester whatweb httpx wafw00f nikto nuclei enum4linux smbmap rpcclient rpcinfo "
        "showmount ldapsearch ldapwhoami ldapdomaindump snmpget snmpgetnext snmpwalk snmpbulkget "
        "snmpbulkwalk snmpdf snmpnetstat snmpstatus snmptable braa onesixtyone finger upnpc "
        # Other machines' shells and files
        "pssh parallel-ssh pscp pslurp csshX cssh mssh clusterssh dbclient plink putty pscp rlogin rsh "
        "rexec rcp sshfs sshuttle xfreerdp rdesktop remmina vncviewer waypipe xxh smbclient cadaver ncftp "
        "ncftpget ncftpput tnftp gftp croc wormhole magic-wormhole qrcp airshare airpaste azcopy b2 s5cmd "
        "s4cmd s3fs megacmd filen gdrive skicka maestral imapsync offlineimap mbsync isync getmail "
        "fetchmail tarsnap duplicacy mutagen lsyncd syncthing unison osync ipfs talk irssi weechat finch "
        "sic hexchat rusers rwho "
        # Reading what others wrote
        "awslogs cointop ddgr googler surfraw tuxi hn rtv tuir newsboat rsstail wikit trans translate-shell "
        "ansiweather wego archwiki-rs tldr tldrl rainbowstream spotify_player ncspot spt dict goobook "
        "gcalcli immich immich-go twurl vt holehe maigret sherlock onionsearch gyb r2e feedreader mas hlsq "
        "gh-dash tginfo "
        # Load
        "locust artillery autocannon ghz jmeter httperf h2load plow cassowary http_load loadtest gatling "
        "tsung slowhttptest tcpreplay "
        # Lists of known faults, and what measures a project elsewhere
        "osv-scanner pip-audit safety retire auditjs audit-ci better-npm-audit nancy govulncheck "
        "bundler-audit bundle-audit local-php-security-checker security-checker fossa sonar-scanner "
        "sonarqube-scanner sonar-scanner-cli pysonar codacy-coverage-reporter cc-test-reporter deepsource "
        "codecovcli php-coveralls goveralls cargo-audit trufflehog scorecard infracost semgrep "
        "wss-unified-agent dependency-check dependency-check.sh npm-check npm-name npm-home taze "
        "bundlewatch vuls freshclam prowler debsecan pip-compile pip-sync conda-lock kubeval kubeconform "
        "setup-envtest awslocal easy_install slsa-verifier allurectl buildpulse-test-reporter launchable "
        "knapsack knapsack-pro",
        always("N", "uses the network"),
    ),
    (
        "sqlmap wpscan hydra medusa patator crowbar dalfox arjun autorecon nettacker nxc netexec "
        "crackmapexec evil-winrm msfconsole ffuf gobuster feroxbuster dirb dirsearch wfuzz hping3 hping "
        "aireplay-ng bully dhcpig arpspoof sslstrip goldeneye.py mdk4 tcpkill responder bettercap ettercap "
        "yersinia commix xsser bloodhound-python kerbrute snmpset ldapmodify ldapadd ldapdelete ldappasswd "
        "psexec.py secretsdump.py smbserver.py",
        always("F", "tries what may break into another machine"),
    ),
    (
        # Models
        "claude codex gemini copilot github-copilot-cli aider llm mods sgpt aichat openai chatgpt tgpt "
        "gpt4all ollama crush opencode goose qwen cursor-agent cline kilocode auggie agy openclaw zeroclaw "
        "open-interpreter oneliner aiac deepseek plandex gptme rgpt",
        always("N", "asks a model, which may run commands"),
    ),
    (
        # To others
        "mail mailx mutt neomutt alpine msmtp sendmail swaks resend ssmtp nullmailer-inject s-nail mailsend "
        "sendemail ntfy slackcat telegram-send tgsend signal-cli matrix-commander toot twtxt pastebinit ix "
        "sprunge termbin hastebin haste transfersh transfer.sh ffsend ots picgo aurpublish aurvote hw-probe "
        "popularity-contest wall ssh-copy-id",
        always("F", "writes to others"),
    ),
    (
        "bore localtunnel lt zrok expose frpc frps gotty ttyd sish pagekite inlets playit chisel ligolo "
        "teleconsole tmate upterm serveo tunnelmole telebit onionshare x11vnc x0vncserver vncserver "
        "krdpserver",
        always("F", "opens this machine to others"),
    ),
)
