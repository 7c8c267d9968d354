package llmgw

import (
	"errors"
	"fmt"
	"strings"

	"llmgw.io/llmgw/storage"
)

// DeclareKey writes what a configuration file declares of a client key: its id
// and its hash, never the key itself. An empty secret makes a new key, which
// stands in a comment and is shown nowhere else.
func DeclareKey(pepper storage.Pepper, secret string) (string, error) {
	comment := ""
	id, ok := storage.KeyID(strings.TrimSpace(secret))
	if secret == "" {
		id, secret = storage.NewKeySecret()
		comment = "# the key, shown once: " + secret + "\n"
	} else if !ok {
		return "", errors.New("that is no client key; one reads sk-llmgw-<id>-<secret>")
	}
	hash := pepper.Hash(strings.TrimSpace(secret))
	return fmt.Sprintf("%skeys:\n  - {name: declared, id: %s, hash: %s}\n", comment, id, hash), nil
}
