#!/usr/bin/env bash
# fuzz.sh GO TIME runs every fuzz target of the module, one after another, for
# that time each.
set -euo pipefail

go=$1 time=$2
found=
while read -r dir; do
	for target in $(grep -hos '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d ' ' -f 2); do
		found=1
		echo "== ${dir#"$PWD"/} $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
	done
done < <("$go" list -f '{{.Dir}}' ./...)
[ -n "$found" ] || {
	echo "fuzz.sh: there is no fuzz target in this module" >&2
	exit 1
}
