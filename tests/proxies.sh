#!/bin/bash
# Runs the examples of reverse proxies before a real server, once over TCP and once over a Unix socket, and checks what
# clients get through them. Only addresses and paths of the examples are replaced.
# Usage: proxies.sh TIDINGS_BINARY, with caddy and nginx in the PATH, and after `npm ci` in tests/sdk.
set -euo pipefail
tidings=$(realpath "$1")
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin
scratch=$(mktemp -d)
running=()
trap '[ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY

ports() {
    python3 -c 'import socket, sys
taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(each.getsockname()[1] for each in taken))' "$1"
}

# A port for the server, and for each proxy those of HTTPS and HTTP, in place of both IPv4 and IPv6.
read -ra port <<<"$(ports 13)"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$scratch/key.pem" -out "$scratch/cert.pem" 2>/dev/null

"$tidings" serve --data-dir "$scratch/data" --listen "127.0.0.1:${port[0]},unix:$scratch/http" --trusted-proxy 127.0.0.1 \
    --base-url https://localhost --rate-limit off --log warn >"$scratch/tidings.log" 2>&1 &
running+=($!)

# Caddy takes a certificate of its own authority for localhost.
caddy_before() { # NAME UPSTREAM PORT
    printf '{\n\tskip_install_trust\n\tauto_https disable_redirects\n\tadmin off\n}\n' >"$scratch/$1.conf"
    sed -e "s|chat\.example\.org {|https://localhost:$3 {|" -e "s|reverse_proxy 127\.0\.0\.1:8080|reverse_proxy $2|" \
        examples/Caddyfile >>"$scratch/$1.conf"
    XDG_DATA_HOME=$scratch/$1 XDG_CONFIG_HOME=$scratch/$1 HOME=$scratch \
        caddy run --adapter caddyfile --config "$scratch/$1.conf" >"$scratch/$1.log" 2>&1 &
    running+=($!)
}

nginx_before() { # NAME UPSTREAM PORTS
    mkdir "$scratch/$1"
    sed -e "s|server 127\.0\.0\.1:8080;|server $2;|" -e "s|/etc/letsencrypt/live/chat\.example\.org/fullchain.pem|$scratch/cert.pem|" \
        -e "s|/etc/letsencrypt/live/chat\.example\.org/privkey.pem|$scratch/key.pem|" -e "s|chat\.example\.org|localhost|" \
        -e "s|listen 443|listen 127.0.0.1:$3|" -e "s|listen \[::\]:443|listen 127.0.0.1:$4|" \
        -e "s|listen 80|listen 127.0.0.1:$5|" -e "s|listen \[::\]:80|listen 127.0.0.1:$6|" \
        examples/nginx.conf >"$scratch/$1/site.conf"
    # As the user who runs the server: the socket is for its owner and its group.
    {
        [ "$(id -u)" -ne 0 ] || echo "user root root;"
        echo "daemon off; pid $scratch/$1/pid; error_log stderr warn; events {}"
        echo "http { access_log off; include $scratch/$1/site.conf;"
        for temporary in client_body proxy fastcgi uwsgi scgi; do
            echo "${temporary}_temp_path $scratch/$1/$temporary;"
        done
        echo "}"
    } >"$scratch/$1/nginx.conf"
    nginx -p "$scratch/$1" -e stderr -c "$scratch/$1/nginx.conf" >"$scratch/$1.log" 2>&1 &
    running+=($!)
}

caddy_before caddy-tcp "127.0.0.1:${port[0]}" "${port[1]}"
caddy_before caddy-unix "unix/$scratch/http" "${port[2]}"
nginx_before nginx-tcp "127.0.0.1:${port[0]}" "${port[@]:3:4}"
nginx_before nginx-unix "unix:$scratch/http" "${port[@]:7:4}"

failed() {
    tail -n 20 "$scratch"/*.log
    echo "$1" >&2
    exit 1
}

urls=()
for n in 1 2 3 7; do
    url=https://localhost:${port[n]}
    for try in $(seq 300); do
        curl -skf "$url/health" >/dev/null && break
        [ "$try" -lt 300 ] || failed "no proxy answers at $url"
        sleep 0.1
    done
    urls+=("$url")
done
cat "$scratch/cert.pem" "$scratch"/caddy-*/caddy/pki/authorities/local/root.crt >"$scratch/trusted.pem"
NODE_EXTRA_CA_CERTS=$scratch/trusted.pem node tests/sdk/proxied.mjs "${urls[@]}" || failed "a client failed"
