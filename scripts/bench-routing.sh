#!/usr/bin/env bash
# bench-routing.sh HARNESS TRACES holds the router's choice of replicas against
# published rules on a simulated fleet: HARNESS has the simulator (routesim), and
# TRACES the two traces of Mooncake that it replays. It takes some ten seconds
# and is exact: the same code prints the same figures on any machine. The
# benchmark of one decision follows, which is not: the quickest of five runs.
set -euo pipefail

harness=$(cd "$1" && pwd)
traces=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
go=$(command -v go || echo /usr/local/go/bin/go)
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

(cd "$harness" && "$go" build -o "$dir/routesim" ./routesim)
"$go" build -o "$dir/routing" ./bench/routing
"$go" test -run '^$' -bench '^BenchmarkDecision$' -benchmem -count 5 ./router >"$dir/decision"
"$dir/routing" "$dir/routesim" "$traces" <"$dir/decision"
