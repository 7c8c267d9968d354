#!/usr/bin/env bash
# stale.sh COMMAND... runs a command that writes generated files, and fails when
# it changed any file of the repository. It compares contents, so it works with
# changes that are not committed yet.
set -euo pipefail

files() {
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . -type f -not -path './bin/*' -print0
	fi
}

sums() {
	# A file that is deleted and not committed has no sum.
	files | LC_ALL=C sort -zu | xargs -0 sha256sum 2>/dev/null || true
}

before=$(sums)
"$@"
after=$(sums)
if [ "$before" != "$after" ]; then
	diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") | awk '/^[<>]/ { print "  " $3 }' | sort -u
	echo "These files were out of date and have been written again: commit them."
	exit 1
fi
