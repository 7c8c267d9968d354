package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/cmd/llmgw-agent/joincmd"
	"llmgw.io/llmgw/cmd/llmgw-agent/probecmd"
)

// file is llmgw-agent.yaml, read strictly.
type file struct {
	// Control are addresses of the control plane. Empty: those from joining.
	Control []string `json:"control,omitempty"`
	DataDir string   `json:"data_dir,omitempty"`
	// Labels are told to the control plane, where people may lay others over them.
	Labels map[string]string `json:"labels,omitempty"`
	// Weights are folders of weights; fetched ones go to the first.
	Weights []string    `json:"weights,omitempty"`
	Engines enginesFile `json:"engines,omitempty"`
	// EngineAccess is loopback (default) or direct.
	EngineAccess string `json:"engine_access,omitempty"`
	// Isolation is empty (as far as the machine lets engines be), required or none.
	Isolation string      `json:"isolation,omitempty"`
	Reserve   reserveFile `json:"reserve,omitempty"`
	// Reach is what fetching may reach beyond public addresses over https, Hub where
	// hf:// sources are found, Mirror what is asked first for files.
	Reach    fetch.Reach  `json:"reach,omitempty"`
	Hub      fetch.Hub    `json:"hub,omitempty"`
	Mirror   string       `json:"mirror,omitempty"`
	Releases releasesFile `json:"releases,omitempty"`
	// MgmtAddr is this machine's address as routers reach it.
	MgmtAddr string `json:"mgmt_addr,omitempty"`
	// Ports are for engines. Zero: 20000 to 29999. Two agents on one machine
	// need ranges of their own.
	Ports struct {
		Min int `json:"min,omitempty"`
		Max int `json:"max,omitempty"`
	} `json:"ports,omitempty"`
	Fabric fabricFile `json:"fabric,omitempty"`
	// Sys, Proc, Dev and Etc are where sysfs, procfs, the devices and the system's
	// files are. Empty: /sys, /proc, /dev and /etc.
	Sys  string `json:"sys,omitempty"`
	Proc string `json:"proc,omitempty"`
	Dev  string `json:"dev,omitempty"`
	Etc  string `json:"etc,omitempty"`
	// NVML is the path of the GPU driver's library, libnvidia-ml.so.1, where the
	// loader does not find it.
	NVML string `json:"nvml,omitempty"`
	// Log is debug, info (default), warn or error.
	Log string `json:"log,omitempty"`
}

// enginesFile says where engines are.
type enginesFile struct {
	// LlamaServer is the path of llama-server. Empty: looked up on the PATH.
	LlamaServer string `json:"llama_server,omitempty"`
	// VLLM are paths of vllm, one for each build. Empty: looked up on the PATH.
	VLLM []string `json:"vllm,omitempty"`
	// Mirror is the address of builds to install, ManifestSHA256 the hash of its
	// manifest.json. Empty: what is installed is what there is.
	Mirror         string `json:"mirror,omitempty"`
	ManifestSHA256 string `json:"manifest_sha256,omitempty"`
}

// releasesFile says which other versions the agent may become.
type releasesFile struct {
	// URL is where releases are: https://, http:// or file:///. Empty: the project's.
	URL string `json:"url,omitempty"`
	// Keys are public keys of minisign (RW…), of which one must have signed.
	Keys []string `json:"keys,omitempty"`
	// Trial is how long a new version may take until the control plane has answered
	// it, before the old one runs again. Empty: 45 s.
	Trial string `json:"trial,omitempty"`
}

// fabricFile says how ports for fabrics are read.
type fabricFile struct {
	// ExcludeHCAs are adapters that are never read, by name or pattern ("mlx5_1*"):
	// those whose driver logs an error at each look at a counter.
	ExcludeHCAs []string `json:"exclude_hcas,omitempty"`
}

// reserveFile is kept for the system. Zero: 2 cores or 10 %, 4 GiB or 5 % of
// memory, the smaller.
type reserveFile struct {
	MemoryMB int64 `json:"memory_mb,omitempty"`
	Cores    int   `json:"cores,omitempty"`
}

// commonFlags are those of run and join.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "configuration `FILE`", Sources: cli.EnvVars("LLMGW_AGENT_CONFIG")},
		&cli.StringFlag{Name: "data-dir", Aliases: []string{"data"}, Usage: "`FOLDER` for what the agent must remember", Sources: cli.EnvVars("LLMGW_AGENT_DATA_DIR")},
		&cli.StringSliceFlag{Name: "control", Usage: "`ADDRESS` of the control plane, https://host:7443; may be repeated", Sources: cli.EnvVars("LLMGW_CONTROL")},
	}
}

func joinCommand() *cli.Command {
	return joincmd.Command(commonFlags(), func(cmd *cli.Command) (control []string, dataDir string, err error) {
		f, err := load(cmd)
		return f.Control, f.DataDir, err
	})
}

func probeCommand() *cli.Command {
	return probecmd.Command(commonFlags(), func(cmd *cli.Command, at probecmd.Roots) (probecmd.Prober, error) {
		f, err := load(cmd)
		if err != nil {
			return nil, err
		}
		f.Sys, f.Proc, f.Dev, f.Etc = cmp.Or(at.Sys, f.Sys), cmp.Or(at.Proc, f.Proc), cmp.Or(at.Dev, f.Dev), cmp.Or(at.Etc, f.Etc)
		p, _, _, err := f.machine(f.Control, slog.New(slog.DiscardHandler))
		return p, err
	})
}

// dataDir finds the data folder, and stumbles over nothing else in the file.
func dataDir(cmd *cli.Command) (string, error) {
	var f struct {
		DataDir string `json:"data_dir,omitempty"`
	}
	if path := cmd.String("config"); path != "" && cmd.String("data-dir") == "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the configuration file: %w", err)
		}
		if err := yaml.Unmarshal(b, &f); err != nil && strings.TrimSpace(string(b)) != "" {
			return "", fmt.Errorf("configuration file %s: %s", path, strings.TrimSpace(yaml.FormatError(err, false, true)))
		}
	}
	return filepath.Abs(cmp.Or(cmd.String("data-dir"), f.DataDir, agent.DefaultDataDir()))
}

// load reads the file and lays flags and variables over it.
func load(cmd *cli.Command) (file, error) {
	var f file
	if path := cmd.String("config"); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return f, fmt.Errorf("read the configuration file: %w", err)
		}
		err = yaml.UnmarshalWithOptions(b, &f, yaml.Strict())
		if err != nil && strings.TrimSpace(string(b)) != "" {
			return f, fmt.Errorf("configuration file %s: %s", path, strings.TrimSpace(yaml.FormatError(err, false, true)))
		}
	}
	if v := cmd.String("data-dir"); v != "" {
		f.DataDir = v
	}
	if v := cmd.StringSlice("control"); len(v) > 0 {
		f.Control = v
	}
	if f.DataDir == "" {
		f.DataDir = agent.DefaultDataDir()
	}
	var all []error
	for _, path := range []*string{&f.DataDir, &f.Hub.TokenFile} {
		if *path != "" {
			abs, err := filepath.Abs(*path)
			*path, all = abs, append(all, err)
		}
	}
	for i := range f.Weights { // a relative one would follow the folder that the agent works in
		abs, err := filepath.Abs(f.Weights[i])
		f.Weights[i], all = abs, append(all, err)
	}
	if f.Reserve.MemoryMB < 0 || f.Reserve.Cores < 0 {
		all = append(all, errors.New("reserve: below zero; leave it out for the default"))
	}
	return f, errors.Join(all...)
}
