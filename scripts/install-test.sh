#!/usr/bin/env bash
# install-test.sh GO installs both packages in a clean Debian and does what
# docs/install.md says, block by block, as it stands there: the document is the
# script. Blocks marked systemd are left out, since none runs in a chroot.
#
# Root is needed, and debootstrap. All of it happens in a temporary folder with
# processes and mounts of its own; nothing is left behind. Ports 7070, 7443 and
# 8080 must be free on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

go=$1
suite=${SUITE:-bookworm}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llmgw/debootstrap
[ "$(id -u)" = 0 ] || { echo "install-test.sh: root is needed to make a clean Debian" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "install-test.sh: debootstrap is missing (apt-get install debootstrap)" >&2; exit 1; }

dir=$(mktemp -d /var/tmp/llmgw-install.XXXXXX)
root=$dir/root
finish() {
	rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 20 "$root"/var/log/llmgw-*.log >&2 2>/dev/null || true
	fi
	# The namespaces of the run ended with its first process, and their mounts with them.
	rm -rf --one-file-system "$dir"
	exit "$rc"
}
trap finish EXIT
trap 'exit 130' INT TERM

echo "== packages"
scripts/deb.sh "$go" "$dir/dist"

echo "== a clean $suite"
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/*$' || true)
mkdir -p "$cache"
debootstrap --variant=minbase --cache-dir="$cache" "$suite" "$root" ${mirror:+"$mirror"} >"$dir/debootstrap.log" 2>&1 ||
	{ tail -n 20 "$dir/debootstrap.log" >&2; exit 1; }
# How this machine reaches its mirrors holds in there too.
apt-config dump --no-empty --format '%f "%v";%n' Acquire | grep -v '^Acquire::IndexTargets' >"$root/etc/apt/apt.conf.d/90host" || true
cp --remove-destination /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true

install -d "$root/srv/models" "$root/root"
"$go" run ./scripts/tinygguf -out "$root/srv/models/model.gguf" -mb 20
cp "$dir"/dist/*.deb "$root/root/"

# Blocks that begin with ```sh and no other word, one after the other.
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' docs/install.md >"$dir/blocks.sh"
[ -s "$dir/blocks.sh" ] || { echo "install-test.sh: docs/install.md has no block to run" >&2; exit 1; }
{
	echo 'set -euxo pipefail'
	echo 'export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive'
	echo 'cd /root; apt-get update -q'
	cat "$dir/blocks.sh"
} >"$root/root/install.sh"

echo "== docs/install.md, block by block"
# Everything that is started dies with the first process of its namespace.
timeout -k 10 "${LIMIT:-900}" unshare --mount --pid --fork --kill-child --propagation private bash -c '
	set -e
	mount -t proc proc "$1/proc"
	mount --rbind /dev "$1/dev"
	mount -t sysfs -o ro sysfs "$1/sys"
	exec chroot "$1" /bin/bash /root/install.sh' install "$root" </dev/null | tee "$dir/out"

grep -q '"finish_reason"' "$dir/out" || { echo "install-test.sh: the model gave no answer" >&2; exit 1; }
echo "install-test.sh: a stranger's install works: everything in docs/install.md was done, and a model answered."
