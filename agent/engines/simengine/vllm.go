package simengine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// As vLLM. "sim-engine --as vllm@0.24.0 serve MODEL ..." takes the command line of
// that version of vLLM and refuses what it does not know, lets nobody connect
// before it is ready, asks for its key under /v1 alone, has a worker process
// without which it ends, meets the other ranks of its group before it serves, and
// says vLLM's last words when it is told to fail. A program named vllm for the real
// driver is two lines of shell:
//
//	#!/bin/sh
//	exec llmgw-agent sim-engine --as vllm@0.24.0 "$@"

const (
	// asVLLM begins the argument that makes the engine vLLM.
	asVLLM = "vllm"
	// vllmDefault is the version where none is named.
	vllmDefault = "0.24.0"
	// vllmKeyVariable, vllmAdaptersVariable and vllmDevicesVariable are vLLM's own.
	vllmKeyVariable      = "VLLM_API_KEY"
	vllmAdaptersVariable = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
	vllmDevicesVariable  = "CUDA_VISIBLE_DEVICES"
)

// vllm is one run of the engine as vLLM.
type vllm struct {
	version vllmVersion
	flags   vllmFlags
	cfg     Config
	log     func(format string, args ...any)
}

// mainVLLM is Main for arguments that begin with --as vllm.
func mainVLLM(as string, args []string) error {
	_, version, _ := strings.Cut(as, "@")
	v := &vllm{version: parseVLLMVersion(cmp.Or(version, vllmDefault)), log: sayVLLM}
	switch {
	case len(args) > 0 && args[0] == "--version":
		fmt.Println(v.version)
		return nil
	case len(args) == 0 || args[0] != "serve":
		return v.usage("argument subparser: invalid choice (choose from 'chat', 'complete', 'serve', 'bench')")
	}
	stops := make(chan os.Signal, 4)
	signal.Notify(stops, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stops)
	var err error
	if v.flags, err = parseVLLM(v.version, args[1:]); err != nil {
		return v.usage(err.Error())
	}
	if err := v.configure(); err != nil {
		return v.usage(err.Error())
	}
	return v.run(stops)
}

// sayVLLM writes a line to the log as vLLM's first process does.
func sayVLLM(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "(APIServer pid=%d) %s\n", os.Getpid(), fmt.Sprintf(format, args...))
}

// usage is how vLLM ends when its arguments are wrong.
func (v *vllm) usage(why string) error {
	fmt.Fprintf(os.Stderr, "usage: vllm serve [model_tag] [options]\nvllm: error: %s\n", why)
	return &ExitError{Code: 2, Reason: why}
}

// configure makes the engine's configuration from the flags.
func (v *vllm) configure() error {
	cfg, err := ParseFlags(v.flags.own)
	if err != nil {
		return err
	}
	cfg.APIKey = os.Getenv(vllmKeyVariable)
	cfg.Version = v.version.String()
	cfg.AsVLLM, cfg.Temper.ListenLate = true, true
	cfg.Adapters = v.flags.adapters
	cfg.FixedAdapters = os.Getenv(vllmAdaptersVariable) == "" || !v.flags.has("enable-lora")
	if len(v.flags.adapters) > 0 && !v.flags.has("enable-lora") {
		return errors.New("argument --lora-modules: needs --enable-lora")
	}
	for module := range strings.SplitSeq(v.flags.values["lora-modules"], ",") {
		if name, path, _ := strings.Cut(module, "="); lacksConfig(path) {
			return fmt.Errorf("Loading lora %s failed: No adapter found for %s", name, path) //nolint:staticcheck // vLLM's own words
		}
	}
	if n := v.flags.number("shutdown-timeout"); n > 0 {
		cfg.Temper.Shutdown, cfg.Temper.ShutdownTimeout = ShutdownDrain, Duration(time.Duration(n)*time.Second)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	v.cfg = cfg
	return nil
}

func (v *vllm) run(stops <-chan os.Signal) error {
	if words := v.lastWords(); words != nil {
		return v.end(1, words...)
	}
	if v.flags.has("headless") {
		return v.follow(stops)
	}
	// vLLM takes its port before it loads, and lets nobody connect until it has.
	held, err := net.Listen("tcp", v.cfg.Addr)
	if err != nil {
		return v.end(1, "OSError: [Errno 98] Address already in use")
	}
	_ = held.Close()
	died, err := startVLLMWorker()
	if err != nil {
		return v.end(1, "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
	}
	group, err := v.lead(stops)
	if err != nil {
		return err
	}
	return v.serve(stops, died, group)
}

// serve is the engine from the moment its group is whole. It ends when its worker
// or another rank does.
func (v *vllm) serve(stops <-chan os.Signal, died, group <-chan struct{}) error {
	v.cfg.OnExit = func(code int) { os.Exit(code) }
	e, err := New(v.cfg)
	if err != nil {
		return err
	}
	go func() {
		for range stops {
			e.Stop()
		}
	}()
	go func() {
		select {
		case <-died:
			v.log("ERROR Worker proc VllmWorker-0 died unexpectedly, shutting down executor.")
		case <-group:
			v.log("ERROR NCCL error: remote process exited or there was a network error")
		}
		v.log("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.")
		e.exit(e.Temper().DieExit)
	}()
	go func() {
		if pause(context.Background(), time.Until(e.readyAt)) {
			v.log("INFO:     Application startup complete.")
		}
	}()
	return e.Run(context.Background())
}

// end says last words and ends.
func (v *vllm) end(code int, words ...string) error {
	for _, w := range words {
		v.log("%s", w)
	}
	return &ExitError{Code: code, Reason: words[len(words)-1]}
}
