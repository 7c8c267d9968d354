package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/discovery"
	"llmgw.io/llmgw/agent/discovery/gpu"
	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/logs"
	"llmgw.io/llmgw/agent/provision"
	"llmgw.io/llmgw/agent/uplink"
	"llmgw.io/llmgw/cmd/llmgw-agent/gatecmd"
	"llmgw.io/llmgw/cmd/llmgw-agent/gpucmd"
	"llmgw.io/llmgw/cmd/llmgw-agent/upgradecmd"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "run the agent of a machine that has joined",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "mgmt-addr", Usage: "this machine's `ADDRESS` as routers reach it", Sources: cli.EnvVars("LLMGW_MGMT_ADDR")},
			&cli.BoolFlag{Name: "stop-engines", Usage: "stop the engines when the agent is stopped; without it they go on and are adopted"},
		),
		Action: upgradecmd.Around(dataDir, run),
	}
}

func run(ctx context.Context, cmd *cli.Command) error {
	f, err := load(cmd)
	if err != nil {
		return err
	}
	if a := cmd.String("mgmt-addr"); a != "" {
		f.MgmtAddr = a
	}
	var level slog.Level
	if f.Log != "" && level.UnmarshalText([]byte(f.Log)) != nil {
		return fmt.Errorf("log: %q is no level; use debug, info, warn or error", f.Log)
	}
	path := filepath.Join(f.DataDir, "agent.log")
	file, err := logs.OpenFile(path)
	if err != nil {
		return fmt.Errorf("open the agent's log: %w", err)
	}
	defer func() { _ = file.Close() }()
	logger := slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level}))
	client, err := uplink.New(uplink.Config{DataDir: f.DataDir, Control: f.Control, Logger: logger})
	if err != nil {
		return err
	}
	prober, set, watch, err := f.machine(client.Control(), logger)
	if err != nil {
		return err
	}
	go func() { _ = watch.Run(ctx) }()
	var a *agent.Agent
	installer, err := provision.New(provision.Config{
		Dir: filepath.Join(f.DataDir, "engines"), Mirror: f.Engines.Mirror, Pin: f.Engines.ManifestSHA256, Reach: f.Reach,
		Changed: func() { a.Look() }, Logger: logger,
	})
	if err != nil {
		return err
	}
	upgrader, err := upgradecmd.New(upgradecmd.Settings{
		DataDir: f.DataDir, Version: version, URL: f.Releases.URL, Keys: f.Releases.Keys, Trial: f.Releases.Trial, Reach: f.Reach,
		Changed: func() { a.Look() }, Logger: logger,
	})
	if err != nil {
		return err
	}
	a, err = agent.New(agent.Config{
		Node: client.Node(), Control: client, Prober: prober, Scanner: prober.Fabric(), Engines: []agent.Engine{set.LlamaCPP, set.VLLM, set.Sim},
		DataDir: f.DataDir, WeightsDirs: f.weights(), MgmtAddr: f.MgmtAddr, EngineAccess: f.EngineAccess, Version: version,
		LogFile: path, Gate: gatecmd.Program(), Reach: f.Reach, Hub: f.Hub, Mirror: f.Mirror, Provisioner: installer, Upgrader: upgrader,
		PortMin: f.Ports.Min, PortMax: f.Ports.Max, StopEngines: cmd.Bool("stop-engines"), Isolation: f.Isolation, Logger: logger,
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// weights are the folders of weights; without any, one in the data folder.
func (f *file) weights() []string {
	if len(f.Weights) == 0 {
		return []string{filepath.Join(f.DataDir, "weights")}
	}
	return f.Weights
}

// machine makes what finds facts and what starts engines.
func (f *file) machine(control []string, logger *slog.Logger) (*discovery.Prober, *engines.Set, *gpu.Watch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("find this program's own path: %w", err)
	}
	set := engines.New(engines.Config{LlamaServer: f.Engines.LlamaServer, VLLM: f.Engines.VLLM, SimEngine: self, SimVersion: version, Logger: logger})
	toward := ""
	if len(control) > 0 {
		if u, err := url.Parse(control[0]); err == nil {
			toward = u.Host
		}
	}
	cfg := discovery.Config{
		Sys: f.Sys, Proc: f.Proc, Etc: f.Etc, WeightsDirs: f.weights(), Labels: f.Labels, LabelList: os.Getenv("LLMGW_LABELS"),
		ReserveMB: f.Reserve.MemoryMB, ReserveCPUs: f.Reserve.Cores, Engines: set.Installed,
		MgmtAddr: f.MgmtAddr, Toward: toward, Version: version,
		Ports: ports.Config{Dev: f.Dev, Exclude: f.Fabric.ExcludeHCAs},
	}
	watch, err := gpucmd.Wire(&cfg, self, f.NVML, logger)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := discovery.New(cfg)
	return p, set, watch, err
}

func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version", Action: func(context.Context, *cli.Command) error {
		fmt.Printf("llmgw-agent %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}}
}
