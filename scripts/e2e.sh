#!/usr/bin/env bash
# e2e.sh GO runs the long end-to-end tests: those behind the build tag e2e, and
# those that do in the long run what they do in short in every check.
set -euo pipefail

go=$1
mapfile -t dirs < <(grep -rl --include='*_test.go' '^//go:build e2e' . | xargs -r -n 1 dirname | sort -u)
[ "${#dirs[@]}" -gt 0 ] || {
	echo "e2e.sh: no test is behind the build tag e2e" >&2
	exit 1
}
"$(dirname "$0")/test.sh" "$go" test -tags e2e -count=1 -timeout 60m -v "${dirs[@]}"
# An agent that is killed a hundred times, against the clock.
LLMGW_KILLS=100 "$(dirname "$0")/test.sh" "$go" test -count=1 -timeout 30m -v -run '^TestKilledAgent$' ./agent
# Two hundred random plans of faults while weights are fetched, with the share of
# bytes that came twice.
"$(dirname "$0")/test.sh" "$go" test -tags long -count=1 -timeout 30m -v -run '^TestRandomFaults$' ./agent/fetch
# An upgrade that is killed at any moment, fifty times.
LLMGW_KILLS=50 "$(dirname "$0")/test.sh" "$go" test -count=1 -timeout 30m -v -run '^TestKilledUpgrade$' ./agent/upgrade
