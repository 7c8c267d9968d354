package gate

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

// identityFile is what the agent's uplink keeps of the node's certificate for
// gates.
type identityFile struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
}

// lookEvery is how often the identity's file is looked at, at most.
const lookEvery = time.Second

// identity is what a gate shows and whom it believes. It is looked at with each
// handshake, so that a renewal needs no word to the gate and ends no connection.
type identity struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	conf   *tls.Config
	ends   time.Time // of the certificate
	read   fs.FileInfo
	looked time.Time
	told   string // the last complaint, so that each is logged once
}

// config is the TLS side for one handshake.
func (i *identity) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conf != nil && time.Since(i.looked) < lookEvery {
		return i.conf, nil
	}
	i.looked = time.Now()
	if err := i.refresh(); err != nil {
		if i.conf == nil {
			return nil, err
		}
		if i.told != err.Error() { // the old one serves on while its file is being replaced
			i.log.Warn("a new certificate cannot be used; the old one stays in force", "err", err)
		}
		i.told = err.Error()
	}
	return i.conf, nil
}

// ended is when the certificate in force ends.
func (i *identity) until() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ends
}

// refresh reads the file when it is another than at the last reading. It is
// replaced whole, so a new one is another file and not only a newer one.
func (i *identity) refresh() error {
	info, err := os.Stat(i.path)
	if err != nil {
		return fmt.Errorf("gate: the certificate cannot be read: %w", err)
	}
	if i.read != nil && os.SameFile(info, i.read) && info.ModTime().Equal(i.read.ModTime()) {
		return nil
	}
	conf, ends, err := load(i.path)
	if err != nil {
		return err
	}
	if i.conf != nil {
		i.log.Info("a new certificate is in force", "ends", ends)
	}
	i.conf, i.ends, i.read, i.told = conf, ends, info, ""
	return nil
}

func load(path string) (*tls.Config, time.Time, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("gate: the certificate cannot be read: %w", err)
	}
	var f identityFile
	if json.Unmarshal(b, &f) != nil {
		return nil, time.Time{}, errors.New("gate: the certificate's file is damaged; remove it, and the agent has another one made")
	}
	pair, err := pki.NewKeyPair([]byte(f.Certificate), []byte(f.Key))
	if err != nil {
		return nil, time.Time{}, err
	}
	cert, err := pair.Current()
	if err != nil {
		return nil, time.Time{}, err
	}
	if p, err := pki.Identity(cert.Leaf); err != nil {
		return nil, time.Time{}, err
	} else if p.Kind != pki.KindGate {
		return nil, time.Time{}, fmt.Errorf("gate: the certificate is of %s, which is no gate", p)
	}
	trust, err := pki.ParseTrust([]byte(f.CA))
	if err != nil {
		return nil, time.Time{}, err
	}
	conf, err := pki.ServerTLS(pki.ServerConfig{
		Trust: trust, Certificate: pair.Current, Kinds: []pki.Kind{pki.KindRouter}, RequireClient: true,
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	// A connection carries one request at a time: a stream that waits for its reader
	// must hold up no other.
	conf.NextProtos = []string{"http/1.1"}
	return conf, cert.Leaf.NotAfter, nil
}
