#!/usr/bin/env bash
# get-node-clients.sh CACHE gets the clients for Node that the end-to-end tests
# run, and prints the folder that holds them. They are fetched once for each lock
# file; nothing of theirs is run while they are installed.
set -euo pipefail

cache=$1
cd "$(dirname "$0")/../test/e2e/clients"
command -v node >/dev/null && command -v npm >/dev/null || {
	echo "get-node-clients.sh: there is no node with npm here" >&2
	exit 1
}
dir=$cache/node-clients-$(cat package.json package-lock.json | cksum | cut -d ' ' -f 1)
if ! [ -e "$dir" ]; then
	mkdir -p "$cache"
	new=$(mktemp -d "$cache/node-clients-new.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	cp package.json package-lock.json "$new/"
	(cd "$new" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
	chmod 755 "$new"
	mv -T "$new" "$dir" 2>/dev/null || [ -e "$dir" ] # somebody else was quicker
fi
echo "$dir"
