#!/usr/bin/env bash
# golden.sh GO PACKAGES... writes golden files and scripts again, in the
# packages whose tests have a flag for it: -rewrite for scripts that datadriven
# reads, -update for the others.
set -euo pipefail

go=$1
shift

# with PATTERN lists the packages, of those asked for, with a test that holds it.
with() {
	local pattern=$1 dir
	shift
	"$go" list -f '{{.Dir}}' "$@" | while read -r dir; do
		if grep -qs -- "$pattern" "$dir"/*_test.go; then echo "$dir"; fi
	done
}

mapfile -t scripts < <(with 'cockroachdb/datadriven' "$@")
mapfile -t goldens < <(with '"update"' "$@")
for dir in "${scripts[@]}"; do "$go" test -count=1 "$dir" -rewrite; done
for dir in "${goldens[@]}"; do "$go" test -count=1 "$dir" -update; done
