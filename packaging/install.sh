#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs gputune from its tarball, after a check of its SHA-256:
#   sh install.sh [--prefix DIR] [--from FILE|URL] [--uninstall]
# DIR is /usr/local for root and ~/.local for everybody else. FILE is the tarball; its check sum is looked up in SHA256SUMS beside it.
# URL is a folder that has both. Without --from: the tarball of this machine's architecture beside this script, or the folder that the
# script itself was unpacked in. Nothing outside of DIR is written, nothing is started or enabled.
set -eu
prefix='' from='' uninstall=''
while [ $# -gt 0 ]; do
	case $1 in
	--prefix) prefix=${2:?install.sh: --prefix needs a folder}; shift ;;
	--from) from=${2:?install.sh: --from needs a file or an address}; shift ;;
	--uninstall) uninstall=1 ;;
	*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift
done
fail() { echo "install.sh: $*" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$prefix" ]; then
	if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?install.sh: HOME is not set: give --prefix DIR}/.local; fi
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
home=$prefix/lib/gputune
list=$home/.installed

remove() { # what the list of an installation names, and nothing else
	[ -f "$list" ] || return 0
	while read -r link; do
		[ ! -L "$prefix/$link" ] || rm -f "$prefix/$link"
	done <"$list"
	rm -rf "$home"
}

if [ -n "$uninstall" ]; then
	[ -f "$list" ] || fail "nothing of gputune is installed in $prefix"
	if ! "$home/bin/gputune" status --exit-code >/dev/null 2>&1; then
		echo "gputune has changed settings of this machine, or cannot say; they stay as they are. To undo them first:"
		echo "  sudo $prefix/bin/gputune undo --all"
	fi
	remove
	echo "gputune is removed from $prefix."
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) fail "no build for $(uname -m): x86_64 and aarch64 only" ;;
esac

get() { # get ADDRESS FILE
	if command -v curl >/dev/null; then curl -fsSL "$1" -o "$2"; else wget -q "$1" -O "$2"; fi || fail "cannot fetch $1"
}

case $from in
http://* | https://*)
	get "$from/SHA256SUMS" "$work/SHA256SUMS"
	name=$(sed -n "s/^[0-9a-f]*  \(gputune-[^ ]*-$arch\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | tail -n 1)
	[ -n "$name" ] || fail "$from has no tarball for $arch"
	get "$from/$name" "$work/$name"
	from=$work/$name
	;;
"")
	if [ ! -x "$here/bin/gputune" ]; then
		from=$(find "$here" -maxdepth 1 -name "gputune-*-$arch.tar.gz" | sort | tail -n 1)
		[ -n "$from" ] || fail "no gputune-VERSION-$arch.tar.gz beside this script: give --from FILE or URL"
	fi
	;;
esac
tree=$here
if [ -n "$from" ]; then
	[ -f "$from" ] || fail "$from: no such file"
	sums=$(dirname "$from")/SHA256SUMS
	[ -f "$sums" ] || fail "$sums is missing: the tarball cannot be checked"
	wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $(basename "$from")\$/\1/p" "$sums" | tail -n 1)
	[ -n "$wanted" ] || fail "$sums does not name $(basename "$from")"
	[ "$(sha256sum <"$from" | cut -d ' ' -f 1)" = "$wanted" ] || fail "$(basename "$from"): its SHA-256 is not what SHA256SUMS says; nothing was installed"
	tar -C "$work" -xzf "$from" || fail "$from cannot be unpacked"
	tree=$(find "$work" -mindepth 1 -maxdepth 1 -type d -name 'gputune-*')
fi
"$tree/bin/gputune" --version >/dev/null || fail "this build does not start here: it needs a newer C library"
mkdir -p "$prefix/lib" "$prefix/bin" || fail "cannot write in $prefix: give --prefix DIR"
if [ ! -w "$prefix/lib" ] || [ ! -w "$prefix/bin" ]; then fail "cannot write in $prefix: give --prefix DIR"; fi
rm -rf "$home.new"
cp -a "$tree" "$home.new"
chown -R "$(id -u):$(id -g)" "$home.new"
remove
rm -rf "$home"
mv "$home.new" "$home"
: >"$list"
link() { # link NAME: below prefix, to the same below lib/gputune
	mkdir -p "$prefix/$(dirname "$1")"
	[ ! -e "$prefix/$1" ] || [ -L "$prefix/$1" ] || fail "$prefix/$1 is there and not ours: it is left, and so is $home"
	ln -sfn "$home/$2" "$prefix/$1"
	echo "$1" >>"$list"
}
link bin/gputune bin/gputune
for page in "$home"/share/man/man*/*; do
	[ ! -f "$page" ] || link "share/man/${page#"$home"/share/man/}" "share/man/${page#"$home"/share/man/}"
done
for file in share/bash-completion/completions/gputune share/zsh/site-functions/_gputune share/fish/vendor_completions.d/gputune.fish; do
	[ ! -f "$home/$file" ] || link "$file" "$file"
done
"$prefix/bin/gputune" --version
case :$PATH: in *":$prefix/bin:"*) run=gputune ;; *) run=$prefix/bin/gputune ;; esac
echo "Installed in $prefix. Next: $run check"
echo "To remove it: sh $home/install.sh --prefix $prefix --uninstall"
