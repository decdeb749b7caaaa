#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What OSS-Fuzz runs in its container: every target of tests/fuzz, its seeds and its dictionary, into $OUT.
set -eu
cd "$SRC/gputune"
meson setup "$WORK/build" -Dtests=true -Db_lundef=false -Dc_args="$CFLAGS" -Dc_link_args="$CFLAGS"
sed -n "s/^ *\['\(fuzz_[a-z_]*\)'.*/\1/p" tests/fuzz/meson.build | sort -u | while read -r target; do
	ninja -C "$WORK/build" "tests/fuzz/${target}_libfuzzer"
	cp "$WORK/build/tests/fuzz/${target}_libfuzzer" "$OUT/$target"
	if [ -f "tests/fuzz/corpus/$target.tar.xz" ]; then
		mkdir -p "$WORK/corpus/$target"
		tar -C "$WORK/corpus/$target" -xJf "tests/fuzz/corpus/$target.tar.xz"
		(cd "$WORK/corpus/$target" && zip -qr "$OUT/${target}_seed_corpus.zip" .)
	fi
done
