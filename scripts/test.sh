#!/usr/bin/env bash
# test.sh GO test ARGS... runs the tests and ends with how many packages passed,
# failed and have no tests, so that the end of a long log says what happened.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

rc=0
"$@" 2>&1 | tee "$log" || rc=$?
awk '
	/^ok[ \t]/ { ok++ }
	/^FAIL[ \t]+[^ \t]+/ { bad++; names = names "\n  " $2 }
	/\[no test files\]$/ { none++ }
	END {
		printf "tests: %d packages passed, %d failed, %d without tests%s\n", ok, bad, none, names
	}' "$log"
exit "$rc"
