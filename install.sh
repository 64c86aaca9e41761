#!/bin/sh
# Puts the tidings binary, its completions and its man pages in place and, on request, writes a systemd unit for it.
# Run it as a user who may write to the target folders; it never raises its own rights.
set -eu

usage() {
    cat <<'EOF'
usage: install.sh [options]

  --prefix DIR     install below DIR (default: /usr/local); the binary goes to DIR/bin
  --binary FILE    install this binary; without it, the one beside this script, or one
                   that is built with cargo
  --service        also write a systemd unit, tidings.service
  --unit-dir DIR   where the unit goes (default: PREFIX/lib/systemd/system)
  --env-file FILE  where the unit reads settings (default: /etc/tidings.env); made when
                   missing, and in any case readable by its owner alone
  --secrets DIR    folder of secret settings for the unit, a file for each, named like
                   the setting, as in mail_url (default: beside the file with
                   the settings, as in /etc/tidings.secrets)
  --data DIR       data folder of the service, below /var/lib (default: /var/lib/tidings);
                   it is backed up before the binary is replaced
  --no-backup      replace the binary without a backup
  --uninstall      remove what this script has put below the prefix, and the unit;
                   data and settings stay
  --help           show this text

An installed service keeps its folders and its file of settings, unless an option names
others. When DESTDIR is set in the environment, files go below it, while the paths
written inside the unit stay as they will be on the final system.
EOF
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

prefix=/usr/local
binary=
service=no
unit_dir=
env_file=
secrets=
data=
backup=yes
uninstall=no

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --binary | --unit-dir | --env-file | --secrets | --data)
            [ $# -ge 2 ] || fail "$1 needs a value (see --help)"
            [ -n "$2" ] || fail "$1 needs a value that is not empty (see --help)"
            case $1 in
                --prefix) prefix=$2 ;;
                --binary) binary=$2 ;;
                --unit-dir) unit_dir=$2 ;;
                --env-file) env_file=$2 ;;
                --secrets) secrets=$2 ;;
                --data) data=$2 ;;
            esac
            shift 2
            ;;
        --prefix=*) prefix=${1#*=}; shift ;;
        --binary=*) binary=${1#*=}; shift ;;
        --unit-dir=*) unit_dir=${1#*=}; shift ;;
        --env-file=*) env_file=${1#*=}; shift ;;
        --secrets=*) secrets=${1#*=}; shift ;;
        --data=*) data=${1#*=}; shift ;;
        --service) service=yes; shift ;;
        --no-backup) backup=no; shift ;;
        --uninstall) uninstall=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        *) fail "unknown option: $1 (see --help)" ;;
    esac
done

# The unit needs absolute paths, and a build below changes the folder.
absolute() {
    case $1 in
        /*) printf '%s\n' "$1" ;;
        *) printf '%s/%s\n' "$(pwd)" "$1" ;;
    esac
}

[ -n "$prefix" ] || fail "--prefix needs a value that is not empty (see --help)"
prefix=$(absolute "$prefix")
[ "$prefix" = / ] || prefix=${prefix%/}
if [ "$service" = no ] && [ "$uninstall" = no ]; then
    [ -z "$unit_dir" ] || fail "--unit-dir is only of use with --service"
    [ -z "$env_file" ] || fail "--env-file is only of use with --service"
    [ -z "$secrets" ] || fail "--secrets is only of use with --service"
    [ -z "$data" ] || fail "--data is only of use with --service"
fi
destdir=${DESTDIR:-}

# Prints what follows a prefix in its last line of a file, without quotes: last_after PREFIX FILE
last_after() {
    value=
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            "$1"*) value=${line#"$1"} ;;
        esac
    done <"$2"
    case $value in
        \"*\") value=${value#\"} value=${value%\"} ;;
        \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    printf '%s\n' "$value"
}

# The unit that systemd runs: one in /etc goes before those elsewhere.
override=$destdir/etc/systemd/system/tidings.service
if [ -z "$unit_dir" ] && [ -f "$override" ]; then
    installed=$override
else
    installed=$destdir$(absolute "${unit_dir:-$prefix/lib/systemd/system}")/tidings.service
fi
unit_dir=$(absolute "${unit_dir:-$prefix/lib/systemd/system}")
unit_data=
if [ -f "$installed" ]; then
    [ -n "$env_file$secrets" ] || secrets=$(last_after LoadCredential=tidings: "$installed")
    env_file=${env_file:-$(last_after EnvironmentFile=- "$installed")}
    unit_data=$(last_after Environment=TIDINGS_DATA_DIR= "$installed")
fi
env_file=$(absolute "${env_file:-/etc/tidings.env}")
secrets=$(absolute "${secrets:-${env_file%.env}.secrets}")

# Where the service has its data. Drop-ins of the unit go before the unit, and the file with the settings before both.
overruling=
overruled_by=
overrule() { # FILE PREFIX
    [ -r "$1" ] || return 0
    value=$(last_after "$2" "$1")
    [ -z "$value" ] || { overruling=$value; overruled_by=$1; }
}
for file in "$destdir"/etc/systemd/system/tidings.service.d/*.conf; do
    overrule "$file" Environment=TIDINGS_DATA_DIR=
done
overrule "$destdir$env_file" TIDINGS_DATA_DIR=
kept=${overruling:-$unit_data}
if [ -n "$data" ]; then
    data=$(absolute "${data%/}")
    [ -z "$overruling" ] || [ "$overruling" = "$data" ] ||
        fail "$overruled_by sets TIDINGS_DATA_DIR=$overruling, which goes before --data $data: remove that line, or leave --data out"
    [ -z "$kept" ] || [ "$kept" = "$data" ] || [ ! -f "$destdir$kept/tidings.db" ] ||
        fail "the service has its data in $kept: stop it and move that folder to $data first, or leave --data out"
    unit_data=$data
fi
unit_data=${unit_data:-/var/lib/tidings}
data=${overruling:-$unit_data}
bin_dir=$destdir$prefix/bin
share=$destdir$prefix/share
bash_completions=$share/bash-completion/completions/tidings
zsh_completions=$share/zsh/site-functions/_tidings
fish_completions=$share/fish/vendor_completions.d/tidings.fish
pages=$share/man/man1

if [ "$uninstall" = yes ]; then
    unit=$destdir$unit_dir/tidings.service
    if [ -z "$destdir" ] && [ -f "$unit" ] && [ -d /run/systemd/system ]; then
        # A socket of the administrator's would start the service again.
        [ ! -f /etc/systemd/system/tidings.socket ] || systemctl disable --now tidings.socket || fail "can't stop tidings.socket"
        systemctl disable --now tidings || fail "can't stop the service; stop it, and run this again"
    fi
    rm -f "$bin_dir/tidings" "$bash_completions" "$zsh_completions" "$fish_completions" "$pages/tidings.1" "$pages"/tidings-*.1 "$unit" ||
        fail "can't remove everything; run as a user who may"
    [ -n "$destdir" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload || true
    printf 'Removed tidings. Data and settings are still there: %s, %s and %s, as far as they were made\n' "$data" "$env_file" "$secrets"
    exit 0
fi

# systemd would read these signs in the unit as something else.
if [ "$service" = yes ]; then
    for path in "$prefix" "$env_file" "$secrets"; do
        case $path in
            *[!A-Za-z0-9/._+-]*) fail "with --service, --prefix, --env-file and --secrets may hold only letters, digits and / . _ + -" ;;
        esac
    done
    # systemd makes the folder, and gives it to the service's own user, below /var/lib alone.
    state=${unit_data#/var/lib/}
    case /$state/ in
        //* | */../* | */./* | /private/* | *[!A-Za-z0-9/._+-]*)
            fail "the data folder $unit_data of a service must be below /var/lib, as in /var/lib/tidings; to use another disk, mount it there" ;;
    esac
fi

if [ -z "$binary" ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    if [ ! -f "$here/Cargo.toml" ]; then
        [ -f "$here/tidings" ] || fail "neither a binary nor the source is beside this script; give a binary with --binary FILE"
        binary=$here/tidings
    fi
fi

if [ -z "$binary" ]; then
    command -v cargo >/dev/null 2>&1 || fail "cargo was not found; install Rust, or give a binary with --binary FILE"
    # A RUSTFLAGS variable would replace the settings that make the binary static.
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
    printf 'Building the release binary\n'
    (cd "$here" && cargo build --release --locked --bin tidings) || fail "the build failed"
    host=$(cd "$here" && rustc -vV | sed -n 's/^host: //p')
    for folder in "${CARGO_TARGET_DIR:-$here/target}/$host/release" "${CARGO_TARGET_DIR:-$here/target}/release"; do
        if [ -f "$folder/tidings" ]; then
            binary=$folder/tidings
            break
        fi
    done
    [ -n "$binary" ] || fail "the build left no binary where it was expected"
fi

[ -f "$binary" ] || fail "no such file: $binary"
[ -x "$binary" ] || fail "$binary is not executable; chmod +x it first"
version=$("$(absolute "$binary")" version 2>/dev/null) || fail "$binary does not run on this machine"
case $version in
    "tidings "*) ;;
    *) fail "$binary is not tidings" ;;
esac

mkdir -p "$bin_dir" 2>/dev/null || fail "can't make the folder $bin_dir"
# Written beside the target and renamed: a running server keeps its file, and no half copy is ever seen.
staged=$bin_dir/.tidings.new.$$
trap 'rm -f "$staged"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp "$binary" "$staged" 2>/dev/null || fail "can't write to $bin_dir"
chmod 0755 "$staged"

# The new binary may change the database, and an older one can't read it then.
is_service=$service
[ ! -f "$installed" ] || is_service=yes
if [ "$is_service" = yes ] && [ "$backup" = yes ] && [ -f "$bin_dir/tidings" ]; then
    if [ -f "$destdir$data/tidings.db" ]; then
        "$staged" backup "$destdir$data/backups" --data-dir "$destdir$data" --database-only --verify ||
            fail "the backup of $destdir$data failed, and nothing was installed; --no-backup installs without one"
    else
        printf 'No backup was made: there is no database in %s\n' "$destdir$data"
    fi
fi

mv -f "$staged" "$bin_dir/tidings"
printf 'Installed %s: %s\n' "$bin_dir/tidings" "$version"

for shell in bash zsh fish; do
    case $shell in
        bash) file=$bash_completions ;;
        zsh) file=$zsh_completions ;;
        fish) file=$fish_completions ;;
    esac
    if ! mkdir -p "$(dirname "$file")" || ! "$bin_dir/tidings" completions "$shell" >"$file"; then
        fail "can't write $file"
    fi
done
if ! mkdir -p "$pages" || ! "$bin_dir/tidings" man --dir "$pages"; then
    fail "can't write the man pages to $pages"
fi

[ "$service" = yes ] || exit 0

# It holds passwords and keys. systemd reads it before the server has a user of its own, so nobody but root needs to.
staged_env=$destdir$env_file
mkdir -p "$(dirname "$staged_env")" 2>/dev/null || fail "can't make the folder $(dirname "$staged_env")"
if [ ! -e "$staged_env" ]; then
    (umask 077 && printf '# Settings of tidings, one a line, such as\n# TIDINGS_DOMAIN=chat.example.org\n' >"$staged_env") 2>/dev/null ||
        fail "can't write $staged_env; run as a user who may, or name another file with --env-file"
fi
chmod 0600 "$staged_env" 2>/dev/null || fail "can't keep others from reading $staged_env"
[ "$(id -u)" -ne 0 ] || chown 0:0 "$staged_env" || fail "can't make root the owner of $staged_env"

(umask 077 && mkdir -p "$destdir$secrets" && chmod 0700 "$destdir$secrets") 2>/dev/null || fail "can't make the folder $destdir$secrets"

staged_dir=$destdir$unit_dir
mkdir -p "$staged_dir" 2>/dev/null || fail "can't make the folder $staged_dir"
staged=$staged_dir/.tidings.service.new.$$
cat 2>/dev/null >"$staged" <<EOF || fail "can't write to $staged_dir"
[Unit]
Description=tidings team-messaging server
After=network-online.target
Wants=network-online.target
# A start that fails, for example on a port that is taken, is tried again without a limit.
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStartPre=$prefix/bin/tidings config check
ExecStart=$prefix/bin/tidings serve
ExecReload=$prefix/bin/tidings config check
ExecReload=/bin/kill -HUP \$MAINPID
# Settings, one a line, such as TIDINGS_DOMAIN=chat.example.org
EnvironmentFile=-$env_file
Environment=TIDINGS_DATA_DIR=$unit_data
# Secret settings, a file for each, named like the setting, such as mail_url
LoadCredential=tidings:$secrets
Restart=always
# The server says every half of this that it can read its database.
WatchdogSec=60
RestartSec=1
# An upgrade makes a backup and migrates the database first.
TimeoutStartSec=infinity
# A clean stop takes up to 10 seconds.
TimeoutStopSec=20
LimitNOFILE=65536
# A child that looks at a picture may need more memory than there is: that must not stop the server.
OOMPolicy=continue
# A dump of the memory would hold the secret key.
LimitCORE=0
# How many milliseconds freed memory is kept for later: the allocator's second of it is up to 60 MiB under attack.
Environment=MIMALLOC_PURGE_DELAY=0

DynamicUser=yes
StateDirectory=$state
StateDirectoryMode=0700
# For a Unix socket, as in --listen unix:/run/tidings/http
RuntimeDirectory=tidings
UMask=0077

# The server needs its data folder, the network and its ports 80 and 443, nothing else. With PrivateUsers= it could not open these.
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=pid
# AF_NETLINK tells the machine's own addresses, which webhooks must not reach.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged

[Install]
WantedBy=multi-user.target
EOF
chmod 0644 "$staged"
mv -f "$staged" "$staged_dir/tidings.service"
cat <<EOF
Wrote $staged_dir/tidings.service
Settings go to $staged_env, and secret ones to files in $destdir$secrets
Start it, or the new version of it, with:
  systemctl daemon-reload
  systemctl enable tidings
  systemctl restart tidings
EOF
[ -f "$destdir$data/tidings.db" ] || cat <<EOF
Then open the link that makes the first administrator within 30 minutes. The log has it:
  journalctl -u tidings -o cat | grep /setup | tail -n 1
EOF
