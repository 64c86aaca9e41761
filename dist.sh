#!/bin/sh
# Packs the release of this source: the binary, which must be static, the installer, the documents and the examples.
#   dist.sh [BINARY [FOLDER]]    without a binary, builds it; the archive goes to FOLDER (default: dist/)
set -eu
[ $# -le 2 ] || { echo "usage: dist.sh [BINARY [FOLDER]]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
if [ $# -eq 0 ]; then
    # A RUSTFLAGS variable would replace the settings that make the binary static.
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
    (cd "$here" && cargo build --release --locked --bin tidings)
    set -- "${CARGO_TARGET_DIR:-$here/target}/$host/release/tidings"
fi
binary=$(realpath "$1")
dist=${2:-$here/dist}
mkdir -p "$dist"
dist=$(realpath "$dist")
"$here/tests/static.sh" "$binary"
version=$("$binary" version | sed -n '1s/^tidings //p' | cut -d ' ' -f 1)
name=tidings-$version-$host
rm -rf "${dist:?}/$name"
mkdir "$dist/$name"
cp "$binary" "$dist/$name/tidings"
(cd "$here" && cp -r install.sh README.md SECURITY.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs examples "$dist/$name/")
(cd "$dist" && tar -czf "$name.tar.gz" "$name" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
rm -rf "${dist:?}/$name"
ls -l "$dist/$name.tar.gz" "$dist/$name.tar.gz.sha256"
