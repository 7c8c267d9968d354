#!/usr/bin/env bash
# deb.sh GO OUT builds both Debian packages into the folder OUT: llmgw-control
# and llmgw-agent, for the architecture of this machine.
#
# What is packed comes from packaging/; the maintainers' scripts work where no
# systemd runs too, as in a chroot or an image that is being built. The same
# commit gives the same bytes: times are those of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

go=$1
mkdir -p "$2"
out=$(cd "$2" && pwd -P)
for c in dpkg-deb dpkg gzip; do
	command -v "$c" >/dev/null || { echo "deb.sh: $c is missing; packages are built on a Debian or one of its kin (apt-get install dpkg)" >&2; exit 1; }
done

arch=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

# A tag v1.2.3 gives 1.2.3; commits after it 1.2.3+4.gabc; no tag at all
# 0.0.0+20260102.gabc, which any release is newer than.
if tag=$(git describe --tags --match 'v[0-9]*' 2>/dev/null); then
	version=$(printf '%s' "${tag#v}" | sed 's/-\([0-9]*\)-\(g[0-9a-f]*\)$/+\1.\2/; s/-/~/g')
	said=$tag
else
	version=0.0.0+$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).g$(git rev-parse --short HEAD)
	said=v$version
fi
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022

# pack NAME puts together one package and builds it.
pack() {
	local name=$1 root=$stage/$1 unit=packaging/systemd/$1.service
	install -d "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/llmgw" "$root/usr/share/doc/$name"
	# The binding of GPU drivers looks up what a driver has when it is called.
	CGO_ENABLED=$2 "$go" build -trimpath -ldflags "-s -w -X main.version=$said -extldflags=-Wl,-z,lazy" -o "$root/usr/bin/$name" "./cmd/$name"
	install -m 644 "$unit" "$root/usr/lib/systemd/system/"
	install -m "$4" "packaging/deb/$3" "$root/etc/llmgw/$3"
	install -m 644 LICENSE "$root/usr/share/doc/$name/copyright"
	install -m 644 docs/install.md docs/upgrade.md "$root/usr/share/doc/$name/"
	gzip -9n <CHANGELOG.md >"$root/usr/share/doc/$name/changelog.gz"
	if [ "$name" = llmgw-agent ]; then
		# What stands before engines is there once for each of them: small, with none of the agent's code.
		CGO_ENABLED=0 "$go" build -trimpath -ldflags "-s -w" -o "$root/usr/bin/llmgw-gate" ./cmd/llmgw-gate
		install -D -m 755 scripts/get-llama-server.sh "$root/usr/share/llmgw/get-llama-server.sh"
	fi
	local script
	for script in postinst prerm postrm; do
		sed "s/@NAME@/$name/g; s:@DATA@:$5:g" "packaging/deb/$script" >"$root/DEBIAN/$script"
		chmod 755 "$root/DEBIAN/$script"
	done
	echo "/etc/llmgw/$3" >"$root/DEBIAN/conffiles"
	(cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
	sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" \
		"packaging/deb/$name.control" >"$root/DEBIAN/control"
	find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/${name}_${version}_$arch.deb" >/dev/null
	echo "$out/${name}_${version}_$arch.deb"
}

pack llmgw-control 0 llmgw.yaml 644 /var/lib/llmgw-control
pack llmgw-agent 1 llmgw-agent.yaml 600 /var/lib/llmgw
