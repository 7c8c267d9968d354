#!/bin/sh
# get-fabric-tools.sh
#
# Installs what the tests of InfiniBand fabrics run: a simulator of switches and
# adapters, a subnet manager, and the tools that ask and walk a fabric. They are
# Debian's own packages ibsim-utils, opensm and infiniband-diags.
#
# Idempotent: where all of it is there it returns at once. Where it may not or
# cannot install anything it says so, and succeeds: the tests are skipped then.
#
# A machine with an adapter is left alone. Installing a subnet manager may start
# it, and a second one on a fabric in use is no thing to do by the way.
set -eu

me=get-fabric-tools
packages="ibsim-utils opensm infiniband-diags"
say() { printf '%s: %s\n' "$me" "$*" >&2; }
skip() {
	say "$*"
	echo "Tests that need a simulated fabric will be skipped."
	exit 0
}

missing() {
	for c in ibsim opensm ibnetdiscover sminfo saquery smpquery; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$c" >/dev/null 2>&1 || {
			echo "$c"
			return
		}
	done
	ls /usr/lib*/*/umad2sim/libumad2sim.so >/dev/null 2>&1 || echo libumad2sim.so
}

what=$(missing)
[ -n "$what" ] || exit 0
command -v apt-get >/dev/null 2>&1 || skip "$what is missing, and there is no apt-get to install $packages"
[ "$(id -u)" = 0 ] || skip "$what is missing: run this as root, or install $packages"
! ls -d /sys/class/infiniband/* >/dev/null 2>&1 ||
	skip "$what is missing, and this machine has adapters for a fabric: install $packages yourself, and see to it that opensm does not start"

say "installing $packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $packages >"$log" 2>&1
}
if ! install; then
	# The list of packages may be old, or not there yet.
	apt-get -q update >"$log" 2>&1 || true
	install || {
		tail -n 20 "$log" >&2
		skip "apt-get could not install $packages"
	}
fi
what=$(missing)
[ -z "$what" ] || skip "$what is missing still"
say "ready"
