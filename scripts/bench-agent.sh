#!/usr/bin/env bash
# bench-agent.sh GO measures what nodes cost: an agent at rest and one that is
# killed, a gate, and the hub of ten thousand agents. It takes four minutes and
# wants a quiet machine of two cores or more, gcc, and a limit of 10,200 open
# files (ulimit -n). AGENTS and KILLS change it.
set -euo pipefail

cd "$(dirname "$0")/.."
go=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

"$go" build -o "$dir/" ./bench/agent ./bench/agent/gate ./bench/agent/hub ./bench/agent/node
# One after the other, and the next also when a goal is missed: the table says so.
echo "== an agent at rest, and killed"
"$dir/node" -kills "${KILLS:-10}" -json "$dir/node.json" || [ -e "$dir/node.json" ]
echo "== a gate"
"$dir/gate" -json "$dir/gate.json" || [ -e "$dir/gate.json" ]
echo "== a hub"
"$dir/hub" -agents "${AGENTS:-10000}" -json "$dir/hub.json" || [ -e "$dir/hub.json" ]
echo
"$dir/agent" "$dir/node.json" "$dir/gate.json" "$dir/hub.json"
