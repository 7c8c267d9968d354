package engines

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// checkLaunch says what no engine can be started with. Definitions were checked
// when they were added, by the same tables; they are again here, since what is
// let through runs on this machine.
func checkLaunch(d protocol.DesiredShard, at protocol.Launch) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("%s: "+format, append([]any{about(d)}, args...)...))
		}
	}
	refuse(!d.Model.Valid(), "the model's name cannot be one that an engine serves under; rename the model")
	refuse(net.ParseIP(at.Host) == nil, "%q is no address to listen on; an engine needs an IP address", at.Host)
	refuse(at.Port < 1 || at.Port > 65535, "%d is no port to listen on", at.Port)
	refuse(!filepath.IsAbs(at.Dir), "the shard's folder %q must be absolute", at.Dir)
	refuse(!plainKey(d.EngineKey), "the engine's key is missing or holds what a key may not; restart the replica to give it a new one")
	for _, a := range d.Args {
		flag, _, _ := strings.Cut(a, "=")
		why := catalog.ReservedArg(d.Engine, a)
		refuse(why != "", "args may not hold %s: %s", clip(flag), why)
		refuse(strings.ContainsRune(a, 0), "args may not hold a NUL byte")
	}
	for _, k := range sortedKeys(d.Env) {
		why := catalog.ReservedEnv(k)
		refuse(why != "", "env may not hold %s: %s", clip(k), why)
		refuse(k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(d.Env[k], 0), "env holds %q, which cannot be a variable", clip(k))
	}
	return errors.Join(errs...)
}

// about names the shard's definition for messages.
func about(d protocol.DesiredShard) string {
	return fmt.Sprintf("profile %s of model %s", clip(d.Profile), clip(string(d.Model)))
}

// plainKey reports whether engines take s as one key: they split lists at commas
// and lines.
func plainKey(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })
}

// environment is the whole environment of an engine: what the driver sets, then
// what every engine needs, then the profile's. Nothing of the agent's own is
// inherited, where every variable could be a setting of the engine or a secret.
func environment(d protocol.DesiredShard, at protocol.Launch, own ...string) []string {
	env := append(own, "PATH="+plainPath, "HOME="+at.Dir, "TMPDIR="+at.Dir)
	if _, set := d.Env["LANG"]; !set {
		env = append(env, "LANG=C.UTF-8")
	}
	for _, k := range sortedKeys(d.Env) {
		env = append(env, k+"="+d.Env[k])
	}
	return env
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// clip shortens what others wrote to what fits into a sentence.
func clip(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
