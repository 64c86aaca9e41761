#!/bin/sh
# Puts the tidings binary in place and, on request, writes a systemd unit for it.
# Run it as a user who may write to the target folders; it never raises its own rights.
set -eu

usage() {
    cat <<'EOF'
usage: install.sh [options]

  --prefix DIR     install below DIR (default: /usr/local); the binary goes to DIR/bin
  --binary FILE    install this binary; without it, one is built with cargo
  --service        also write a systemd unit, tidings.service
  --unit-dir DIR   where the unit goes (default: PREFIX/lib/systemd/system)
  --env-file FILE  where the unit reads settings (default: /etc/tidings.env); made when
                   missing, and in any case readable by its owner alone
  --help           show this text

When DESTDIR is set in the environment, files go below it, while the paths
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

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --binary | --unit-dir | --env-file)
            [ $# -ge 2 ] || fail "$1 needs a value (see --help)"
            [ -n "$2" ] || fail "$1 needs a value that is not empty (see --help)"
            case $1 in
                --prefix) prefix=$2 ;;
                --binary) binary=$2 ;;
                --unit-dir) unit_dir=$2 ;;
                --env-file) env_file=$2 ;;
            esac
            shift 2
            ;;
        --prefix=*) prefix=${1#*=}; shift ;;
        --binary=*) binary=${1#*=}; shift ;;
        --unit-dir=*) unit_dir=${1#*=}; shift ;;
        --env-file=*) env_file=${1#*=}; shift ;;
        --service) service=yes; shift ;;
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
[ -z "$unit_dir" ] || [ "$service" = yes ] || fail "--unit-dir is only of use with --service"
[ -z "$env_file" ] || [ "$service" = yes ] || fail "--env-file is only of use with --service"
unit_dir=$(absolute "${unit_dir:-$prefix/lib/systemd/system}")
env_file=$(absolute "${env_file:-/etc/tidings.env}")
destdir=${DESTDIR:-}
# systemd would read these signs in the unit as something else.
if [ "$service" = yes ]; then
    for path in "$prefix" "$env_file"; do
        case $path in
            *[!A-Za-z0-9/._+-]*) fail "with --service, --prefix and --env-file may hold only letters, digits and / . _ + -" ;;
        esac
    done
fi

if [ -z "$binary" ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    [ -f "$here/Cargo.toml" ] || fail "no source beside this script; give a binary with --binary FILE"
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

bin_dir=$destdir$prefix/bin
mkdir -p "$bin_dir" 2>/dev/null || fail "can't make the folder $bin_dir"
# Written beside the target and renamed: a running server keeps its file, and no half copy is ever seen.
staged=$bin_dir/.tidings.new.$$
trap 'rm -f "$staged"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp "$binary" "$staged" 2>/dev/null || fail "can't write to $bin_dir"
chmod 0755 "$staged"
mv -f "$staged" "$bin_dir/tidings"
printf 'Installed %s: %s\n' "$bin_dir/tidings" "$version"

[ "$service" = yes ] || exit 0

# It holds passwords and keys. systemd reads it before the server has a user of its own, so nobody but root needs to.
staged_env=$destdir$env_file
mkdir -p "$(dirname "$staged_env")" 2>/dev/null || fail "can't make the folder $(dirname "$staged_env")"
if [ ! -e "$staged_env" ]; then
    (umask 077 && printf '# Settings of tidings, one a line, such as\n# TIDINGS_BASE_URL=https://chat.example.org\n' >"$staged_env") 2>/dev/null ||
        fail "can't write $staged_env; run as a user who may, or name another file with --env-file"
fi
chmod 0600 "$staged_env" 2>/dev/null || fail "can't keep others from reading $staged_env"
[ "$(id -u)" -ne 0 ] || chown 0:0 "$staged_env" || fail "can't make root the owner of $staged_env"

staged_dir=$destdir$unit_dir
mkdir -p "$staged_dir" 2>/dev/null || fail "can't make the folder $staged_dir"
staged=$staged_dir/.tidings.service.new.$$
cat 2>/dev/null >"$staged" <<EOF || fail "can't write to $staged_dir"
[Unit]
Description=tidings team-messaging server
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=$prefix/bin/tidings serve
# Settings, one a line, such as TIDINGS_LISTEN=127.0.0.1:8080
EnvironmentFile=-$env_file
Environment=TIDINGS_DATA_DIR=/var/lib/tidings
Restart=always
RestartSec=1
# A clean stop takes up to 10 seconds.
TimeoutStopSec=20
LimitNOFILE=65536

DynamicUser=yes
StateDirectory=tidings
StateDirectoryMode=0700
UMask=0077

# The server needs its data folder and the network, nothing else.
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
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
Settings go to $staged_env
Start it with:
  systemctl daemon-reload
  systemctl enable --now tidings
EOF
