#!/usr/bin/env bash
# bench-gateway.sh HARNESS measures what a request through the router costs,
# beside a plain reverse proxy of Go's, in one run of the gateway harness. It
# takes some minutes and wants a quiet machine; ROUNDS and SCENARIOS change it.
set -euo pipefail

harness=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
go=$(command -v go || echo /usr/local/go/bin/go)
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

mkdir -p "$dir/peers/bin"
cp bin/llmgw-control "$dir/peers/bin/"
"$go" build -o "$dir/peers/bin/bare" ./bench/gateway/bare
cp -r bench/gateway/targets "$dir/targets"

# A key for this run alone; its hash is declared, as an operator would.
declared=$("$dir/peers/bin/llmgw-control" token hash --data-dir "$dir/keys")
key=$(sed -n 's/^# the key, shown once: //p' <<<"$declared")
id=$(sed -n 's/.*id: \([a-z0-9]*\),.*/\1/p' <<<"$declared")
hash=$(sed -n 's/.*hash: \([0-9a-f]*\)}.*/\1/p' <<<"$declared")
for f in "$dir"/targets/*/*; do
	sed -i "s|@KEY@|$key|; s|@PEPPER@|$dir/keys/pepper|; s|@ID@|$id|; s|@HASH@|$hash|" "$f"
done

(cd "$harness" && "$go" build -o "$dir/harness" ./bench)
"$dir/harness" -upstreams 4 -targets "$dir/targets" -peers "$dir/peers" -out "$dir/out" -rounds "${ROUNDS:-5}" \
	-scenarios "${SCENARIOS:-json-c1,json-500rps,json-c32,json-c256,json-64k-c8,sse-c32,sse-paced-c64,idle-5k}" \
	-proxies "${PROXIES:-direct,gofloor,goproxy,llmgw,llmgw-bare}"
"$go" run ./bench/gateway/faults -control "$dir/peers/bin/llmgw-control" -config "$dir/targets/llmgw/llmgw.yaml" \
	-key "$key" -out "$dir/faults.json"
echo
"$go" run ./bench/gateway "$dir/out/results.json" "$dir/faults.json"
