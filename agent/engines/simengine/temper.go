package simengine

import (
	"errors"
	"fmt"
	"time"
)

// Duration is a time.Duration that is written as text, such as "250ms".
type Duration time.Duration

// MarshalText gives the text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the text.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Failure is a way to fail.
type Failure string

// The ways to fail. The first group answers with an error at once; the second goes wrong later.
const (
	FailRateLimit     Failure = "rate_limit"
	FailServerError   Failure = "server_error"
	FailInvalidKey    Failure = "invalid_api_key"
	FailContextLength Failure = "context_length"
	FailInvalid       Failure = "invalid_request"
	FailModelNotFound Failure = "model_not_found"

	// FailHang takes the request and never answers, while /health says that all is well.
	FailHang Failure = "hang"
	// FailCut closes the connection after some tokens.
	FailCut Failure = "cut"
	// FailInBand puts an error into an answer whose status is 200.
	FailInBand Failure = "error_in_stream"
	// FailDie ends the whole engine after some tokens.
	FailDie Failure = "die"
)

// valid reports whether f is one of the ways to fail.
func (f Failure) valid() bool {
	switch f {
	case FailRateLimit, FailServerError, FailInvalidKey, FailContextLength, FailInvalid, FailModelNotFound, FailHang, FailCut, FailInBand, FailDie:
		return true
	}
	return false
}

// Shutdown is what the engine does when it is told to stop while requests are in flight.
type Shutdown string

// The ways to stop.
const (
	// ShutdownAbort cuts the requests in flight, as vLLM does.
	ShutdownAbort Shutdown = "abort"
	// ShutdownDrain refuses new requests and finishes the old ones within a time, as vLLM does with --shutdown-timeout.
	ShutdownDrain Shutdown = "drain"
	// ShutdownHang stops generating, keeps the requests open and /health at 200, and waits for the clients to leave or
	// for a second order to stop, as llama-server does.
	ShutdownHang Shutdown = "hang"
)

// Temper is how the engine behaves. The zero value is a quick and healthy engine. It can be replaced while the engine
// runs, but for the fields about starting and the sizes of the cache.
type Temper struct {
	// StartupDuration is how long it loads.
	StartupDuration Duration `json:"startup_duration"`
	// ListenLate lets nobody connect until it has loaded, as vLLM does; else it answers 503 until then, as llama-server
	// does.
	ListenLate bool `json:"listen_late"`
	// StartExit makes it end with this code instead of becoming ready, saying StartError; 0 lets it start.
	StartExit  int    `json:"start_exit"`
	StartError string `json:"start_error"`

	// TimeToFirstToken is spent on every request before its first token, PrefillTimePerToken on each token of the prompt
	// that is not in the prefix cache, and InterTokenLatency before each later token.
	TimeToFirstToken    Duration `json:"time_to_first_token"`
	PrefillTimePerToken Duration `json:"prefill_time_per_token"`
	InterTokenLatency   Duration `json:"inter_token_latency"`

	// MaxNumSeqs is how many requests run at once; 0 means 5.
	MaxNumSeqs int `json:"max_num_seqs"`
	// MaxWaiting is how many more may wait; 0 means 1,000 and -1 none. Those beyond it are refused with 429.
	MaxWaiting int `json:"max_waiting_queue_length"`
	// MaxModelLen is the most tokens of prompt and answer together; 0 means 4,096.
	MaxModelLen int `json:"max_model_len"`
	// NoPrefixCache turns the prefix cache off. BlockSize is its grain in tokens; 0 means 16. KVBlocks is its size in
	// blocks; 0 means 4,096.
	NoPrefixCache bool `json:"no_prefix_cache"`
	BlockSize     int  `json:"block_size"`
	KVBlocks      int  `json:"num_gpu_blocks"`

	// Say is the word that answers are made of; empty echoes the prompt.
	Say string `json:"say"`
	// OutputTokens is the length of an answer made of Say; 0 means 16.
	OutputTokens int `json:"output_tokens"`
	// EmbeddingSize is the length of a vector; 0 means 64.
	EmbeddingSize int `json:"embedding_size"`

	// FailureRate is the share of requests that fail, in percent.
	FailureRate int `json:"failure_injection_rate"`
	// Failures are the ways in which they do; empty means rate_limit and server_error.
	Failures []Failure `json:"failure_types"`
	// FailAfter is how many tokens come before a failure that strikes in the middle.
	FailAfter int `json:"fail_after"`
	// DieExit is the exit code of FailDie. vLLM may well end with 0 when its engine died.
	DieExit int `json:"die_exit"`

	// Shutdown is how it stops; empty means abort. ShutdownTimeout bounds a drain; 0 waits for as long as it takes.
	Shutdown        Shutdown `json:"shutdown"`
	ShutdownTimeout Duration `json:"shutdown_timeout"`
}

// withDefaults fills in what was left out.
func (t Temper) withDefaults() Temper {
	fill := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	fill(&t.MaxNumSeqs, 5)
	fill(&t.MaxWaiting, 1000)
	fill(&t.MaxModelLen, 4096)
	fill(&t.BlockSize, 16)
	fill(&t.KVBlocks, 4096)
	fill(&t.OutputTokens, 16)
	fill(&t.EmbeddingSize, 64)
	t.MaxWaiting = max(t.MaxWaiting, 0)
	if len(t.Failures) == 0 {
		t.Failures = []Failure{FailRateLimit, FailServerError}
	}
	if t.Shutdown == "" {
		t.Shutdown = ShutdownAbort
	}
	return t
}

// Validate gives every complaint about the temper.
func (t Temper) Validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
		least int
	}{
		{"max_num_seqs", t.MaxNumSeqs, 0},
		{"max_waiting_queue_length", t.MaxWaiting, -1},
		{"max_model_len", t.MaxModelLen, 0},
		{"block_size", t.BlockSize, 0},
		{"num_gpu_blocks", t.KVBlocks, 0},
		{"output_tokens", t.OutputTokens, 0},
		{"embedding_size", t.EmbeddingSize, 0},
		{"fail_after", t.FailAfter, 0},
	} {
		if n.value < n.least {
			errs = append(errs, fmt.Errorf("simengine: %s is %d; it must be %d or more", n.name, n.value, n.least))
		}
	}
	if t.FailureRate < 0 || t.FailureRate > 100 {
		errs = append(errs, fmt.Errorf("simengine: failure_injection_rate is %d; it is a percentage from 0 to 100", t.FailureRate))
	}
	for _, f := range t.Failures {
		if !f.valid() {
			errs = append(errs, fmt.Errorf("simengine: failure_types has %q, which is no way to fail", f))
		}
	}
	switch t.Shutdown {
	case "", ShutdownAbort, ShutdownDrain, ShutdownHang:
	default:
		errs = append(errs, fmt.Errorf("simengine: shutdown is %q; it must be abort, drain or hang", t.Shutdown))
	}
	return errors.Join(errs...)
}
