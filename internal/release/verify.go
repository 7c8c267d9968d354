package release

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jedisct1/go-minisign"
)

// ErrRefused says that bytes are not the release that was asked for. What it wraps
// is a sentence that says why.
var ErrRefused = errors.New("release: refused")

// MaxSignature bounds a signature, in bytes.
const MaxSignature = 4 << 10

// Want is what is asked for.
type Want struct {
	// Version is a tag, such as v1.2.3.
	Version string
	// OS and Arch are the machine's, as Go names them.
	OS, Arch string
}

// File is the name of the agent's program among the files of a release.
func (w Want) File() string { return "llmgw-agent_" + w.OS + "_" + w.Arch }

// Comment is the trusted comment that a signature must have: these words, in any
// order, and any others beside them.
func (w Want) Comment() string {
	return fmt.Sprintf("version:%s os:%s arch:%s file:%s", w.Version, w.OS, w.Arch, w.File())
}

// Key is a public key that signatures may be by.
type Key struct{ public minisign.PublicKey }

// ParseKey reads a public key: the line that minisign prints (RW…), or its whole
// file.
func ParseKey(text string) (Key, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	raw, err := base64.StdEncoding.DecodeString(line)
	if err != nil || len(raw) != 42 || string(raw[:2]) != "Ed" {
		return Key{}, errors.New("it is no public key of minisign; give the line of its .pub file that begins with RW")
	}
	public, err := minisign.NewPublicKey(line)
	if err != nil {
		return Key{}, fmt.Errorf("it is no public key of minisign: %w", err)
	}
	return Key{public}, nil
}

// ID names the key as minisign does.
func (k Key) ID() string { return keyID(k.public.KeyId) }

func keyID(id [8]byte) string { return fmt.Sprintf("%X", binary.LittleEndian.Uint64(id[:])) }

// Verify answers nil when the file is what is wanted, signed by one of the keys.
// Errors match ErrRefused.
func Verify(keys []Key, w Want, file, signature []byte) error {
	if len(signature) > MaxSignature {
		return refused("its signature has %d bytes, and one of minisign has a few hundred", len(signature))
	}
	sig, err := minisign.DecodeSignature(string(signature))
	if err != nil {
		return refused("its signature cannot be read; it must be a .minisig file of minisign")
	}
	key, err := signer(keys, sig.KeyId)
	if err != nil {
		return err
	}
	if ok, err := key.public.Verify(file, sig); err != nil || !ok {
		return refused("its signature by key %s does not fit: the file or its comment was changed or cut after it was signed", key.ID())
	}
	return w.is(strings.TrimPrefix(sig.TrustedComment, "trusted comment: "))
}

func signer(keys []Key, id [8]byte) (Key, error) {
	var known []string
	for _, k := range keys {
		if k.public.KeyId == id {
			return k, nil
		}
		known = append(known, k.ID())
	}
	return Key{}, refused("it is signed by key %s, and trusted is %s", keyID(id), strings.Join(known, ", "))
}

// is holds what was signed against what is wanted.
func (w Want) is(comment string) error {
	said := map[string]string{}
	for word := range strings.FieldsSeq(comment) {
		name, value, ok := strings.Cut(word, ":")
		if _, twice := said[name]; ok && twice {
			return refused("its signed comment says %s twice", clip(name))
		}
		if ok {
			said[name] = value
		}
	}
	for _, want := range []struct{ name, value string }{
		{"version", w.Version}, {"os", w.OS}, {"arch", w.Arch}, {"file", w.File()},
	} {
		switch got, ok := said[want.name]; {
		case !ok:
			return refused("its signed comment says no %s; sign it with the comment %q", want.name, w.Comment())
		case got != want.value:
			return refused("it was signed as %s %s, and %s was asked for", want.name, clip(got), want.value)
		}
	}
	return nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// clip keeps a foreign word short enough to repeat.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
