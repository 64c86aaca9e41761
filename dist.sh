#!/bin/sh
# Builds the release binary, proves that it is static, and packs it into dist/.
set -eu
cd "$(dirname "$0")"
# A RUSTFLAGS variable would replace the settings that make the binary static.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
cargo build --release --locked --bin tidings
host=$(rustc -vV | sed -n 's/^host: //p')
binary=${CARGO_TARGET_DIR:-target}/$host/release/tidings
./tests/static.sh "$binary"
version=$("$binary" version | sed -n '1s/^tidings //p' | cut -d ' ' -f 1)
name=tidings-$version-$host
rm -rf "dist/$name"
mkdir -p "dist/$name"
cp -r "$binary" install.sh README.md SECURITY.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs "dist/$name/"
(cd dist && tar -czf "$name.tar.gz" "$name" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
rm -rf "dist/$name"
ls -l "dist/$name.tar.gz" "dist/$name.tar.gz.sha256"
