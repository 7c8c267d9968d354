package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
)

// ConfigFile and SocketFile are in a gate's folder. The first is read at the
// start; at the second the gate is asked and told.
const (
	ConfigFile = "gate.json"
	SocketFile = "gate.sock"
)

// Config is what a gate needs; all of it is required but the last two. Its file
// holds the engine's key, so it is its owner's alone.
type Config struct {
	// Shard is whose gate it is.
	Shard string `json:"shard"`
	// Listen is the address for routers, "10.0.0.3:19000".
	Listen string `json:"listen"`
	// Engine is where the engine listens, "127.0.0.1:20000".
	Engine string `json:"engine"`
	// EngineKey is what the engine asks of its callers. It is a secret. Empty:
	// nothing.
	EngineKey string `json:"engine_key"`
	// Identity is the file with the certificate to show and the authority to
	// believe, absolute.
	Identity string `json:"identity"`
	// Dir is the gate's own folder, where its socket is made. Of one that is read
	// from a file it is the file's.
	Dir string `json:"-"`
	// Logger nil is silent.
	Logger *slog.Logger `json:"-"`
}

// readConfig reads a gate's folder.
func readConfig(dir string) (Config, error) {
	path := filepath.Join(dir, ConfigFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("gate: the configuration cannot be read: %w", err)
	}
	c := Config{Dir: dir}
	if err := json.Unmarshal(b, &c); err != nil {
		// What the decoder says may repeat a part of the file.
		return Config{}, fmt.Errorf("gate: %s is no configuration of a gate; the agent writes it at each start", path)
	}
	return c, nil
}

func (c *Config) check() error {
	var errs []error
	miss := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("gate: "+format, args...))
		}
	}
	miss(c.Shard == "", "Config.Shard is missing")
	miss(!hostPort(c.Listen), "Config.Listen %q must be an address and a port", c.Listen)
	miss(!hostPort(c.Engine), "Config.Engine %q must be an address and a port", c.Engine)
	miss(!filepath.IsAbs(c.Identity), "Config.Identity %q must be an absolute path", c.Identity)
	miss(c.Dir == "", "Config.Dir is missing")
	return errors.Join(errs...)
}

func hostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && net.ParseIP(host) != nil && port != ""
}
