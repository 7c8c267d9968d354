#!/usr/bin/env bash
# record-streams.sh LLAMA-SERVER records the streams llama_*.sse of
# router/openai/testdata/streams anew, from a real llama-server with tiny models.
# What differs from run to run is cut short: ids, times, the build.
set -euo pipefail
cd "$(dirname "$0")/.."

server=$1
go=$(command -v go || echo /usr/local/go/bin/go)
to=$PWD/router/openai/testdata/streams
dir=$(mktemp -d "${TMPDIR:-/tmp}/llmgw-record.XXXXXX")
pid=
finish() {
	if [ -n "$pid" ]; then
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap finish EXIT

"$go" build -o "$dir/tinygguf" ./scripts/tinygguf

# serve FLAGS starts the server on a model made with them.
serve() {
	if [ -n "$pid" ]; then
		kill -TERM "$pid"
		wait "$pid" || true
	fi
	rm -f "$dir/s.sock" # it is left behind
	"$dir/tinygguf" -q -out "$dir/model.gguf" "$@"
	OMP_WAIT_POLICY=passive "$server" -t 1 -m "$dir/model.gguf" --jinja --host "$dir/s.sock" -c 4096 -np 4 -cram 0 --alias tiny >"$dir/log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		if ask /health -f >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "record-streams.sh: the server does not answer; its log is:" >&2
	tail -n 20 "$dir/log" >&2
	exit 1
}

ask() {
	local path=$1
	shift
	curl -sN --unix-socket "$dir/s.sock" "http://engine$path" "$@"
}

# record NAME PATH BODY
record() {
	ask "$2" -d "$3" | sed -E 's/chatcmpl-[A-Za-z0-9]{32}/c1/; s/"created":[0-9]+/"created":1/; s/"system_fingerprint":"[^"]*"/"system_fingerprint":"b1"/
		s/([0-9]\.[0-9])[0-9]+/\1/g; s/"id":"[A-Za-z0-9]{32}"/"id":"k1"/' >"$to/llama_$1.sse"
	echo "llama_$1.sse: $(wc -c <"$to/llama_$1.sse") bytes"
}

chat='"messages":[{"role":"user","content":"say"}],"temperature":0,"stream":true,"stream_options":{"include_usage":true}'
text='"temperature":0,"stream":true,"stream_options":{"include_usage":true}'
serve
record usage /v1/chat/completions "{$chat,\"max_tokens\":3}"
record two_choices /v1/chat/completions "{$chat,\"max_tokens\":2,\"n\":2}"
record logprobs /v1/chat/completions "{$chat,\"max_tokens\":2,\"logprobs\":true,\"top_logprobs\":1}"
record progress /v1/chat/completions "{$chat,\"max_tokens\":2,\"return_progress\":true,\"timings_per_token\":true}"
record text /v1/completions "{$text,\"prompt\":\"say\",\"max_tokens\":3}"
record two_prompts /v1/completions "{$text,\"prompt\":[\"say\",\"word\"],\"max_tokens\":2}"
serve -tools
record tool /v1/chat/completions "{$chat,\"max_tokens\":100,\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",
	\"parameters\":{\"type\":\"object\",\"properties\":{\"c\":{\"enum\":[\"R\"]}},\"required\":[\"c\"]}}}]}"
echo "Now run make golden PKG=./router/..., and read the diff."
