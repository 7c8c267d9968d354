#!/usr/bin/env bash
# test-gpu.sh GO reads the GPUs of this machine as the agent does, beside
# nvidia-smi, and runs an engine on one where there is a build for it. Without a
# GPU it says so and does nothing. What it saw is left under bin/test-gpu.
set -euo pipefail

go=$1
if [ ! -e /dev/nvidia0 ] && ! command -v nvidia-smi >/dev/null 2>&1; then
	echo "test-gpu: skipped: there is no /dev/nvidia0 and no nvidia-smi on this machine"
	exit 0
fi
if [ "$("$go" env CGO_ENABLED)" != 1 ]; then
	echo "test-gpu: skipped: without cgo nothing reads a GPU; install gcc" >&2
	exit 0
fi
out=bin/test-gpu
mkdir -p "$out"
"$go" build -o "$out/llmgw-agent" ./cmd/llmgw-agent
"$out/llmgw-agent" nvml-snapshot >"$out/snapshot.json"
"$out/llmgw-agent" probe --data-dir "$PWD/$out/data" | tee "$out/probe.txt"
"$out/llmgw-agent" probe --json --data-dir "$PWD/$out/data" >"$out/probe.json"
if command -v nvidia-smi >/dev/null 2>&1; then
	timeout 60 nvidia-smi -q -x >"$out/nvidia-smi.xml"
	timeout 60 nvidia-smi topo -m >"$out/nvidia-smi-topo.txt" || true
fi
LLMGW_TEST_GPU=1 "$go" test -count=1 -v -timeout 10m -run TestReal ./agent/discovery/gpu | tee "$out/test.txt"
echo "test-gpu: what was seen is in $out"
