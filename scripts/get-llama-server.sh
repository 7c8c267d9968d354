#!/bin/sh
# get-llama-server.sh PREFIX [--upgrade] [--with-extra] [--backends "rpc vulkan"]
#
# Puts a real llama-server under PREFIX, from Debian's own packages, on a
# Debian host whose glibc is older than the one they were built for.
#
# The packages are resolved and fetched with the host's apt-get against a
# private package state (the host's own is not touched), so apt checks
# Debian's signatures. They are unpacked beside the host's system, with their
# own loader, libc and libstdc++, and the binaries are told to use those. No
# chroot and no container: PREFIX/bin/llama-server is a one-line script that
# exec's the real process, so signals and exit codes are the server's own.
#
# Idempotent: a second run finds the result and returns at once. The fetched
# packages stay in PREFIX/cache (or $LLAMA_CACHE), and are used again, without
# the network, while they match the checksums written beside them.
#
# Settings (environment):
#   LLAMA_CACHE     folder for fetched packages        (PREFIX/cache)
#   LLAMA_SUITE     Debian suite that has them         (forky)
#   LLAMA_VERSION   exact version wanted, else newest  ()
#   DEBIAN_MIRROR   mirror                             (the one the host's apt uses)
#   DEBIAN_KEYRING  keys the suite must be signed by   (/usr/share/keyrings/debian-archive-keyring.gpg)
#
# PREFIX is written into the binaries: to move it, run this again at the new place.
set -eu

me=get-llama-server
say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "error: $*"; exit 1; }

usage() { sed -n '2,/^set -eu/{s/^# \{0,1\}//;/^set -eu/d;p}' "$0"; }

prefix='' upgrade='' extra='' backends=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--upgrade) upgrade=1 ;;
	--with-extra) extra=1 ;;
	--backends) [ $# -gt 1 ] || die "--backends needs a list, such as \"rpc vulkan\""; backends=$2; shift ;;
	-*) die "unknown option $1 (try --help)" ;;
	*) [ -z "$prefix" ] || die "one PREFIX only"; prefix=$1 ;;
	esac
	shift
done
[ -n "$prefix" ] || die "usage: $0 PREFIX"
case $prefix in *[!A-Za-z0-9._/+-]*) die "PREFIX may hold letters, digits and ._/+- only: $prefix" ;; esac

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] ||
	die "this needs a Debian host on amd64, which dpkg does not say it is: put a llama-server of your own on the PATH instead"
for c in dpkg-deb sha256sum flock; do
	command -v "$c" >/dev/null 2>&1 || die "$c is missing"
done

mkdir -p "$prefix/bin" "$prefix/lib"
prefix=$(cd "$prefix" && pwd -P)
cache=${LLAMA_CACHE:-$prefix/cache}
suite=${LLAMA_SUITE:-forky}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)

# One run at a time for a PREFIX and for a cache.
exec 9>"$prefix/.lock"
flock 9
exec 8>"$cache/.lock"
flock 8

pkgs="llama.cpp-tools patchelf"
[ -z "$extra" ] || pkgs="$pkgs llama.cpp-tools-extra"
for b in $backends; do pkgs="$pkgs libggml0-backend-$b"; done

if [ -z "$upgrade" ] && [ -x "$prefix/bin/llama-server" ] &&
	[ "$(cat "$prefix/lib/.llama-packages" 2>/dev/null)" = "$pkgs" ] &&
	v=$("$prefix/bin/llama-server" --version 2>&1); then
	say "already there: $(printf '%s' "$v" | head -n 1)"
	exit 0
fi

# --- fetch ------------------------------------------------------------------

debs=$cache/debs
want=$(printf '%s %s %s' "$suite" "${LLAMA_VERSION:-newest}" "$pkgs")
cached() {
	[ -s "$debs/SHA256SUMS" ] && [ "$(cat "$debs/WANT" 2>/dev/null)" = "$want" ] &&
		(cd "$debs" && sha256sum --quiet -c SHA256SUMS >/dev/null 2>&1)
}

if [ -z "$upgrade" ] && cached; then
	say "using $(wc -l <"$debs/SHA256SUMS") fetched packages in $debs"
else
	for c in apt-get apt-config; do
		command -v "$c" >/dev/null 2>&1 || die "$c is missing: install apt, or bring the fetched packages in LLAMA_CACHE"
	done
	# shellcheck disable=SC2016
	mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/*$' || true)}
	mirror=${mirror%/}
	[ -n "$mirror" ] || die "the host's apt names no Debian mirror: set DEBIAN_MIRROR"
	keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
	[ -r "$keyring" ] || die "no keyring at $keyring (apt-get install debian-archive-keyring)"
	apt=$cache/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$debs"
	# The tools' package asks for wget or curl and for debconf, which the
	# server itself does not use: said to be there, they are not fetched.
	: >"$apt/status"
	for p in wget debconf; do
		printf 'Package: %s\nStatus: install ok installed\nArchitecture: all\nVersion: 9999\nMaintainer: none <none@localhost>\nDescription: stands for the host'"'"'s own\n\n' "$p" >>"$apt/status"
	done
	printf 'deb [arch=amd64 signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$suite" >"$apt/sources.list"
	rm -f "$apt/apt.conf"
	(umask 077 && : >"$apt/apt.conf")
	{
		# How the host reaches its mirrors (proxies, time-outs, date checks) holds here too.
		apt-config dump --no-empty --format '%f "%v";%n' Acquire | grep -v '^Acquire::IndexTargets' || true
		cat <<-CONF
			Dir::State "$apt";
			Dir::State::lists "$apt/lists";
			Dir::State::status "$apt/status";
			Dir::State::extended_states "$apt/extended_states";
			Dir::Cache "$apt";
			Dir::Cache::archives "$apt/archives";
			Dir::Etc "$apt/etc";
			Dir::Etc::sourcelist "$apt/sources.list";
			Dir::Etc::sourceparts "-";
			APT::Architecture "amd64";
			APT::Architectures { "amd64"; };
			APT::Install-Recommends "false";
			APT::Sandbox::User "root";
			Acquire::Languages "none";
			Acquire::Retries "3";
		CONF
	} >>"$apt/apt.conf"
	export APT_CONFIG="$apt/apt.conf"

	say "reading $suite's package list from the mirror that apt uses"
	apt-get -q update >"$apt/update.log" 2>&1 || {
		cat "$apt/update.log" >&2
		grep -q 'is expired' "$apt/update.log" && say "the mirror's list is older than its own expiry date: a stale mirror or a wrong clock ($(date -u))"
		die "apt-get update failed"
	}
	! grep -q '^[WE]: .*\(Failed to fetch\|expired\|NO_PUBKEY\|not signed\)' "$apt/update.log" || {
		cat "$apt/update.log" >&2
		die "apt could not read $suite from $mirror"
	}
	rm -f "$apt"/archives/*.deb
	ask=$pkgs
	[ -z "${LLAMA_VERSION:-}" ] || ask=$(printf '%s' "$pkgs" | sed "s|llama.cpp-tools|&=$LLAMA_VERSION|g")
	say "fetching $ask and what they need"
	# shellcheck disable=SC2086
	apt-get -q -y --no-install-recommends --download-only install $ask >"$apt/install.log" 2>&1 || {
		cat "$apt/install.log" >&2
		die "apt could not fetch them"
	}
	grep '^Fetched' "$apt/install.log" >&2 || true
	rm -rf "$debs"
	mkdir -p "$debs"
	mv "$apt"/archives/*.deb "$debs/"
	(cd "$debs" && sha256sum -- *.deb >SHA256SUMS)
	printf '%s\n' "$want" >"$debs/WANT"
	rm -rf "$apt/lists" "$apt"/*.bin # 60 MB of package lists, of no more use
	unset APT_CONFIG
fi

deb=$(ls "$debs"/llama.cpp-tools_*.deb) || die "no llama.cpp-tools among the packages in $debs"
version=$(dpkg-deb -f "$deb" Version)

# --- unpack -----------------------------------------------------------------

dir=$prefix/lib/llama.cpp-$(printf '%s' "${version#*:}" | tr -c 'A-Za-z0-9.\n' '-')
say "unpacking $version into $dir"
tmp=$(mktemp -d "$prefix/lib/.unpack.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
for d in "$debs"/*.deb; do dpkg-deb -x "$d" "$tmp/x"; done

# One flat folder: ggml looks for its backends beside the running binary.
new=$tmp/flat
mkdir "$new"
lib=$tmp/x/usr/lib/x86_64-linux-gnu
cp -P "$lib"/*.so* "$new/"
cp -P "$lib"/llama/*.so* "$lib"/ggml/backends0/*.so* "$new/"
bins=
for b in "$tmp"/x/usr/bin/llama-* "$tmp"/x/usr/bin/ggml-* "$tmp"/x/usr/bin/rpc-server; do
	[ -f "$b" ] || continue
	cp -L "$b" "$new/"
	bins="$bins ${b##*/}"
done
[ -x "$new/llama-server" ] || die "the packages hold no llama-server"
[ -x "$lib/ld-linux-x86-64.so.2" ] || die "the packages hold no loader"
mkdir "$new/doc"
for p in llama.cpp-tools libllama0 libggml0; do
	[ ! -f "$tmp/x/usr/share/doc/$p/copyright" ] || cp "$tmp/x/usr/share/doc/$p/copyright" "$new/doc/$p.copyright"
done

# It runs on the unpacked libraries, not on the copies that it writes to.
patchelf() { "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$tmp/x/usr/bin/patchelf" "$@"; }
for f in "$new"/*; do
	if [ ! -f "$f" ] || [ -L "$f" ]; then continue; fi
	case ${f##*/} in
	ld-linux-* | libc.so.6) continue ;;
	*.so | *.so.*) patchelf --set-rpath "\$ORIGIN" "$f" ;;
	*) patchelf --set-interpreter "$dir/ld-linux-x86-64.so.2" --set-rpath "\$ORIGIN" "$f" ;;
	esac
done
rm -rf "$dir"
mv "$new" "$dir"

for b in $bins; do
	printf '#!/bin/sh\n# Written by %s. Version %s.\nexec "%s/%s" "$@"\n' "$me" "$version" "$dir" "$b" >"$prefix/bin/.$b.new"
	chmod 755 "$prefix/bin/.$b.new"
	mv -f "$prefix/bin/.$b.new" "$prefix/bin/$b"
done

# --- check ------------------------------------------------------------------

v=$("$prefix/bin/llama-server" --version 2>&1) || {
	printf '%s\n' "$v" >&2
	die "it was unpacked, but does not run"
}
printf '%s\n' "$pkgs" >"$prefix/lib/.llama-packages"
say "ready: $prefix/bin/llama-server, $(printf '%s' "$v" | head -n 1)"
