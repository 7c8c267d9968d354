#!/usr/bin/env bash
# bench-placement.sh HARNESS OPENB [PEERS] measures how well and how fast the
# scheduler places: the openb trace and the fleet that serves language models,
# through the placement harness, beside its own policies. PEERS adds general
# schedulers at the same work. It takes some minutes and wants a quiet machine.
#
#	SEEDS   of the openb trace (10)           LISTS   its task lists beside default (the published ones)
#	NODES   of the smaller fleet (1000)       LARGE   of the larger one (10000; 0 leaves it out)
#	GROWTH  of the largest (100000; 0 leaves it out)
#	OUT     a folder to keep the harness's own tables in
set -euo pipefail

harness=$(cd "$1" && pwd)
openb=$(cd "$2" && pwd)
peers=${3:+$(cd "$3" && pwd)}
cd "$(dirname "$0")/.."
go=$(command -v go || echo /usr/local/go/bin/go)
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
out=${OUT:-$dir/out}
mkdir -p "$out"
rm -f "$out"/*.txt "$out"/*.jsonl

"$go" build -o "$dir/llmgw" ./bench/placement
(cd "$harness" && "$go" build -o "$dir/harness" .)
ours="exec:$dir/llmgw policy -out"
large=${LARGE:-10000} growth=${GROWTH:-100000}
lists=${LISTS-cpu050,cpu100,cpu200,cpu250,gpushare40,gpushare60,gpushare80,gpushare100,gpuspec10,gpuspec20,gpuspec25,gpuspec33,multigpu20,multigpu30,multigpu40,multigpu50}

# One core is what a control plane has to spare.
export GOMAXPROCS=1
"$dir/harness" openb -data "$openb" -seeds "${SEEDS:-10}" -policies "fast,$ours /dev/null" | tee "$out/openb.txt"
if [ -n "$lists" ]; then
	"$dir/harness" openb -data "$openb" -seeds "$((${SEEDS:-10} < 3 ? ${SEEDS:-10} : 3))" -traces "$lists" -policies "fast,$ours /dev/null" | tee "$out/lists.txt"
fi
"$dir/harness" llm -nodes "${NODES:-1000}" -seeds 3 -policies "random,index,$ours /dev/null" | tee "$out/llm.txt"
"$dir/harness" llm -nodes "${NODES:-1000}" -seeds 3 -policies "$ours /dev/null -moves 2" | tee "$out/moves.txt"
if [ "$large" != 0 ]; then
	"$dir/harness" llm -nodes "$large" -policies "index,$ours $out/fill.jsonl" | tee "$out/large.txt"
	"$dir/harness" fill -nodes "$large" -policies "index,$ours $out/fill.jsonl" | tee "$out/fill.txt"
fi
if [ "$growth" != 0 ] && [ "$large" != 0 ]; then
	"$dir/harness" fill -nodes "$large,$growth" -policies "$ours $out/growth.jsonl"
fi
if [ "$large" != 0 ]; then
	"$dir/llmgw" loop "$out/loop.jsonl" "$((large + 4))"
fi
if [ -n "$peers" ] && [ "$large" != 0 ]; then
	# The peers' own modules build beside the harness; what they print is a line
	# each. cpu is the part of the time in which the peer had a processor, which on
	# a machine that others use is less than all of it.
	for peer in nomad kube; do
		cp -r "$peers/$peer" "$dir/$peer" && chmod -R u+w "$dir/$peer"
		if ! (cd "$dir/$peer" && "$go" mod edit -replace "placementbench=$harness" &&
			GOFLAGS=-mod=mod "$go" test -c -o "$dir/$peer.test" .) 2>"$dir/$peer.log"; then
			echo "$peer not run: it does not build here: $(tail -n 1 "$dir/$peer.log")" | tee -a "$out/peers.txt"
			continue
		fi
		TIMEFORMAT='%R %U %S'
		{ time NODES="$large" LIMIT="${LIMIT:-15s}" MODES=per-replica "$dir/$peer.test" -test.timeout 20m \
			>"$dir/$peer.log" 2>&1 || true; } 2>"$dir/$peer.time"
		cpu=$(awk '{ printf "%.3f", ($2 + $3) / $1 }' "$dir/$peer.time")
		if ! sed -n "s|pods/s=|placements/s=|; / nodes=.*placements.s=/s|\$| cpu=$cpu|p" "$dir/$peer.log" | tee -a "$out/peers.txt" | grep .; then
			echo "$peer not run: $(tail -n 1 "$dir/$peer.log")" | tee -a "$out/peers.txt"
		fi
	done
fi
echo
"$dir/llmgw" table "$out"
