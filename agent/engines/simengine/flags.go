package simengine

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// KeyVariable is the environment variable that holds the API key. There is no flag for it: the command line of a
// process is there for everybody to read.
const KeyVariable = "SIM_API_KEY"

// ParseFlags reads a command line, without the program's name. The flags bear the names they have in vLLM and in its
// simulators; those of vLLM that mean nothing here are taken and ignored. With --help the error is flag.ErrHelp, and the
// text went to standard error.
func ParseFlags(args []string) (Config, error) {
	c := Config{APIKey: os.Getenv(KeyVariable)}
	p := flagParser{FlagSet: flag.NewFlagSet("sim-engine", flag.ContinueOnError)}
	p.register(&c)
	if err := p.Parse(args); err != nil {
		return Config{}, err
	}
	if p.NArg() > 0 {
		return Config{}, fmt.Errorf("simengine: %q is no flag; every setting is one", p.Arg(0))
	}
	if p.configFile != "" {
		if err := p.readConfig(&c, args); err != nil {
			return Config{}, err
		}
	}
	return c, p.finish(&c)
}

// flagParser holds the flags that are not fields of a Config.
type flagParser struct {
	*flag.FlagSet
	model, host, keyFile, configFile string
	port                             int
}

func (p *flagParser) register(c *Config) {
	p.StringVar(&p.model, "model", "", "path or `name` of the model; its name unless --served-model-name gives others")
	p.Func("served-model-name", "`names` to serve under, separated by commas; may be given again", names(&c.Models))
	p.Func("lora-modules", "an adapter as `name=path`; may be given again", func(s string) error {
		name, _, _ := strings.Cut(s, "=")
		c.Adapters = append(c.Adapters, name)
		return nil
	})
	p.StringVar(&p.host, "host", "127.0.0.1", "`address` to listen on")
	p.IntVar(&p.port, "port", 8000, "`port` to listen on; 0 takes a free one")
	p.StringVar(&p.keyFile, "api-key-file", "", "`file` with the API key; else the variable "+KeyVariable)
	p.StringVar(&p.configFile, "config", "", "`file` with the temper as JSON; flags win over it")
	p.Uint64Var(&c.Seed, "seed", 0, "`number` that chooses which requests fail")
	p.temper(&c.Temper)
	for _, name := range [...]string{"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "gpu-memory-utilization", "kv-cache-memory-bytes", "kv-cache-dtype", "dtype", "quantization", "max-loras", "max-lora-rank", "tool-call-parser", "load-format", "disable-access-log-for-endpoints"} {
		p.Func(name, "taken and ignored (`value`)", func(string) error { return nil })
	}
	for _, name := range [...]string{"enable-lora", "enable-auto-tool-choice", "enable-prompt-tokens-details", "enable-request-id-headers", "enforce-eager", "enable-kvcache"} {
		p.Bool(name, false, "taken and ignored")
	}
}

func (p *flagParser) temper(t *Temper) {
	span := func(d *Duration, name, usage string) {
		p.DurationVar((*time.Duration)(d), name, time.Duration(*d), usage)
	}
	span(&t.StartupDuration, "startup-duration", "`time` it takes to load")
	p.BoolVar(&t.ListenLate, "listen-late", t.ListenLate, "let nobody connect until it has loaded")
	p.IntVar(&t.StartExit, "start-exit-code", t.StartExit, "end with this `code` instead of becoming ready")
	p.StringVar(&t.StartError, "start-error", t.StartError, "`text` to say then")
	span(&t.TimeToFirstToken, "time-to-first-token", "`time` before the first token")
	span(&t.PrefillTimePerToken, "prefill-time-per-token", "`time` for each token of the prompt that is not cached")
	span(&t.InterTokenLatency, "inter-token-latency", "`time` before each later token")
	p.IntVar(&t.MaxNumSeqs, "max-num-seqs", t.MaxNumSeqs, "`number` of requests that run at once (0: 5)")
	p.IntVar(&t.MaxWaiting, "max-waiting-queue-length", t.MaxWaiting, "`number` of requests that may wait (0: 1000, -1: none)")
	p.IntVar(&t.MaxModelLen, "max-model-len", t.MaxModelLen, "`tokens` of prompt and answer together (0: 4096)")
	p.IntVar(&t.BlockSize, "block-size", t.BlockSize, "`tokens` in a block of the prefix cache (0: 16)")
	p.IntVar(&t.KVBlocks, "num-gpu-blocks-override", t.KVBlocks, "`blocks` of cache (0: 4096)")
	p.IntVar(&t.KVBlocks, "kv-cache-size", t.KVBlocks, "the same as --num-gpu-blocks-override (`blocks`)")
	p.BoolFunc("enable-prefix-caching", "keep prompts for later requests (on unless =false)", func(s string) error {
		t.NoPrefixCache = s == "false"
		return nil
	})
	p.BoolVar(&t.NoPrefixCache, "no-enable-prefix-caching", t.NoPrefixCache, "keep no prompts")
	p.Func("mode", "echo is the only `mode`; --say gives another answer", func(s string) error {
		if s != "echo" {
			return errors.New("it must be echo; use --say WORD for answers that do not depend on the prompt")
		}
		return nil
	})
	p.StringVar(&t.Say, "say", t.Say, "`word` to answer with, instead of the prompt")
	p.IntVar(&t.OutputTokens, "output-tokens", t.OutputTokens, "`number` of such words (0: 16)")
	p.IntVar(&t.EmbeddingSize, "embedding-size", t.EmbeddingSize, "`length` of an embedding (0: 64)")
	p.failures(t)
	p.StringVar((*string)(&t.Shutdown), "shutdown", string(t.Shutdown), "`way` to stop: abort, drain or hang")
	span(&t.ShutdownTimeout, "shutdown-timeout", "longest `time` of a drain (0: no limit)")
}

func (p *flagParser) failures(t *Temper) {
	p.IntVar(&t.FailureRate, "failure-injection-rate", t.FailureRate, "`percentage` of requests that fail")
	var kinds []string
	p.Func("failure-types", "`ways` to fail, separated by commas: rate_limit, server_error, invalid_api_key, context_length, invalid_request, model_not_found, hang, cut, error_in_stream, die", func(s string) error {
		if err := names(&kinds)(s); err != nil {
			return err
		}
		t.Failures = nil
		for _, k := range kinds {
			t.Failures = append(t.Failures, Failure(k))
		}
		return nil
	})
	p.IntVar(&t.FailAfter, "fail-after", t.FailAfter, "`tokens` before a failure in the middle of an answer")
	p.IntVar(&t.DieExit, "die-exit-code", t.DieExit, "`code` with which it dies")
}

// names reads names separated by commas, and adds to those given before.
func names(to *[]string) func(string) error {
	return func(s string) error {
		*to = append(*to, strings.Split(s, ",")...)
		return nil
	}
}

// readConfig reads the temper from the file and then the flags once more over it, so that flags win.
func (p *flagParser) readConfig(c *Config, args []string) error {
	b, err := os.ReadFile(p.configFile)
	if err != nil {
		return fmt.Errorf("simengine: read the temper: %w", err)
	}
	var t Temper
	if err := decodeTemper(b, &t); err != nil {
		return fmt.Errorf("simengine: %s: %w", p.configFile, err)
	}
	*c = Config{APIKey: c.APIKey, Temper: t}
	again := flagParser{FlagSet: flag.NewFlagSet("sim-engine", flag.ContinueOnError)}
	again.register(c)
	again.SetOutput(io.Discard)
	return again.Parse(args)
}

// decodeTemper reads JSON over t; unknown names are refused.
func decodeTemper(b []byte, t *Temper) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return err
	}
	return t.Validate()
}

func (p *flagParser) finish(c *Config) error {
	if p.keyFile != "" {
		b, err := os.ReadFile(p.keyFile)
		if err != nil {
			return fmt.Errorf("simengine: read the API key: %w", err)
		}
		if c.APIKey = strings.TrimSpace(string(b)); c.APIKey == "" {
			return fmt.Errorf("simengine: the file %s holds no API key; write one into it", p.keyFile)
		}
	}
	if len(c.Models) == 0 && p.model != "" {
		c.Models = []string{p.model}
	}
	c.Root = p.model
	c.Addr = net.JoinHostPort(p.host, fmt.Sprint(p.port))
	return c.validate()
}
