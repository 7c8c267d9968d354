#!/usr/bin/env bash
# demo.sh shows the whole length of the system on this machine, in one temporary
# folder: a real llama-server, a tiny model, a control plane with an agent beside
# it over TLS, one streamed chat by the public OpenAI SDK, and what was counted.
# Nothing is left running, whatever happens.
set -euo pipefail
cd "$(dirname "$0")/.."

go=$(command -v go || echo /usr/local/go/bin/go)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llmgw
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-demo.XXXXXX")
server=

finish() {
	rc=$?
	if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
		kill -TERM "$server"
		wait "$server" || true
	fi
	if [ "$rc" -ne 0 ]; then
		echo "The demo failed; the end of the server's log:" >&2
		tail -n 20 "$dir/server.log" >&2 2>/dev/null || true
	fi
	rm -rf "$dir"
	exit "$rc"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }

say "Building"
mkdir -p "$dir/bin"
"$go" build -o "$dir/bin/" ./cmd/llmgw-control ./cmd/llmgw-agent ./scripts/tinygguf
(cd examples/clients && "$go" build -o "$dir/bin/chat" ./chat)

say "Finding an engine"
llama=${LLMGW_LLAMA_SERVER:-}
if [ -z "$llama" ] && scripts/get-llama-server.sh "$cache/llama" 2>"$dir/llama.log"; then
	llama=$cache/llama/bin/llama-server
fi
[ -n "$llama" ] || llama=$(command -v llama-server || true)
if [ -n "$llama" ]; then
	echo "A real llama-server: $llama"
	"$dir/bin/tinygguf" -out "$dir/tiny.gguf" -mb 20
	cat >"$dir/tiny.yaml" <<-EOF
		name: tiny
		description: a model of 20 MB that says words
		source: file://$dir/tiny.gguf
		profiles:
		  - {name: cpu, engine: llamacpp, cpu_cores: 1, min_memory_gb: 1, context: 1024, slots: 2}
	EOF
	export PATH=$(dirname "$llama"):$PATH
else
	sed 's/^/  /' "$dir/llama.log"
	echo "No llama-server is to be had here; the simulated engine stands in for it."
	cat >"$dir/tiny.yaml" <<-EOF
		name: tiny
		description: the simulated engine
		profiles:
		  - {name: sim, engine: sim, cpu_cores: 1, min_memory_gb: 1, context: 1024, slots: 2}
	EOF
fi

say "Starting a control plane and an agent beside it"
export LLMGW_DATA_DIR=$dir/data/control
"$dir/bin/llmgw-control" dev --data-dir "$dir/data" --node demo --log-format text \
	--client 127.0.0.1:0 --admin 127.0.0.1:0 --agents 127.0.0.1:0 >"$dir/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do
	[ -e "$LLMGW_DATA_DIR/addresses.json" ] && break
	kill -0 "$server" 2>/dev/null || exit 1
	sleep 0.1
done
address() { sed -n "s/.*\"$1\": \"\\([^\"]*\\)\".*/\\1/p" "$LLMGW_DATA_DIR/addresses.json"; }
LLMGW_SERVER=$(address admin)
export LLMGW_SERVER
ctl() { "$dir/bin/llmgw-control" ctl "$@"; }
for _ in $(seq 300); do
	ctl nodes list -o json 2>/dev/null | grep -q '"cpu_count"' && break # it has said what it is
	kill -0 "$server" 2>/dev/null || exit 1
	sleep 0.1
done
ctl nodes list

say "Adding a model, and watching it start"
ctl models add -f "$dir/tiny.yaml"
ctl wait tiny
ctl replicas

say "One streamed chat, by the OpenAI SDK for Go"
OPENAI_API_KEY=$(ctl keys create --name demo -o json | sed -n 's/.*"key": *"\([^"]*\)".*/\1/p')
OPENAI_BASE_URL=$(address client)/v1
export OPENAI_API_KEY OPENAI_BASE_URL
"$dir/bin/chat" -model tiny -max-tokens 24 "Say something."

say "Why the replica stands where it stands"
ctl explain tiny

say "What was counted"
for _ in $(seq 100); do
	ctl usage --by model -o json | grep -q '"requests": *1' && break
	sleep 0.1
done
ctl usage --by model

say "Stopping"
kill -TERM "$server"
wait "$server" || true
server=
if pgrep -f "$dir" >/dev/null 2>&1; then
	echo "Something of the demo still runs:" >&2
	pgrep -fa "$dir" >&2
	exit 1
fi
echo "Nothing is left running."
