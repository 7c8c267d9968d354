#!/usr/bin/env bash
# release.sh GO VERSION KEY [OUT] builds the agent for this machine's architecture
# as a release and signs it with the secret key of minisign in the file KEY.
#
# OUT (dist/releases) becomes what agents look for under releases.url: a folder for
# each version, with llmgw-agent_<os>_<arch> and its .minisig. The signed comment
# names version, system and file; agents refuse any other (internal/release).
#
# LLMGW_RELEASE_KEYS are public keys that the program is to trust where its
# configuration names none, with commas between them; LLMGW_RELEASES_URL is where it
# then looks.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$#" -ge 3 ] || { echo "release.sh GO VERSION KEY [OUT]: name a version such as v1.2.3 and a secret key of minisign" >&2; exit 2; }
go=$1 version=$2 key=$3 out=${4:-dist/releases}
[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] ||
	{ echo "release.sh: $version is no release tag; write one such as v1.2.3 or v1.2.3-rc.1" >&2; exit 2; }
command -v minisign >/dev/null || { echo "release.sh: minisign is missing (apt-get install minisign)" >&2; exit 1; }
[ -r "$key" ] || { echo "release.sh: there is no key $key; minisign -G -s $key -p agent.pub makes one" >&2; exit 1; }

os=$("$go" env GOOS) arch=$("$go" env GOARCH)
name=llmgw-agent_${os}_$arch
mkdir -p "$out/$version"
program=$out/$version/$name
in=llmgw.io/llmgw/cmd/llmgw-agent/upgradecmd
set -- -s -w -X "main.version=$version" "-extldflags=-Wl,-z,lazy"
[ -z "${LLMGW_RELEASE_KEYS:-}" ] || set -- "$@" -X "$in.keys=$LLMGW_RELEASE_KEYS"
[ -z "${LLMGW_RELEASES_URL:-}" ] || set -- "$@" -X "$in.url=$LLMGW_RELEASES_URL"
"$go" build -trimpath -ldflags "$*" -o "$program" ./cmd/llmgw-agent
chmod 755 "$program"
minisign -S -s "$key" -m "$program" -x "$program.minisig" -t "version:$version os:$os arch:$arch file:$name"
echo "$program"
