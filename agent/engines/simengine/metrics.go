package simengine

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// firstTokenBuckets are vLLM's, in seconds.
var firstTokenBuckets = [...]float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}

// stats are the engine's counters.
type stats struct {
	mu                      sync.Mutex
	prompts, cached, tokens int64
	// steps are those of the engine: one for a prompt, and one for each token.
	steps           int64
	finished        map[string]int64 // by reason
	done, aborted   int64
	firstTokens     [len(firstTokenBuckets) + 1]int64
	firstTokenSum   time.Duration
	firstTokenCount int64
}

func newStats() *stats { return &stats{finished: map[string]int64{}} }

func (s *stats) prompt(tokens, cached int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts += int64(tokens)
	s.steps++
	s.cached += int64(cached)
}

func (s *stats) firstToken(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := 0
	for i < len(firstTokenBuckets) && after.Seconds() > firstTokenBuckets[i] {
		i++
	}
	s.firstTokens[i]++
	s.firstTokenCount++
	s.firstTokenSum += after
}

func (s *stats) generated(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens += int64(n)
	s.steps++
}

func (s *stats) finish(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	for _, c := range j.choices {
		s.finished[c.reason]++
	}
}

func (s *stats) embedded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.finished["stop"]++
}

func (s *stats) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted++
}

func (s *stats) counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{Finished: s.done, Aborted: s.aborted, PromptTokens: s.prompts, CachedTokens: s.cached, GeneratedTokens: s.tokens}
}

// metrics writes the counters in the text form of Prometheus, under vLLM's names.
func (e *Engine) metrics(w http.ResponseWriter, _ *http.Request) {
	running, waiting := e.slots.counts()
	m := metricText{model: strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(e.cfg.Models[0])}
	m.gauge("vllm:num_requests_running", float64(running))
	m.gauge("vllm:num_requests_waiting", float64(waiting))
	m.gauge("vllm:kv_cache_usage_perc", e.cache.usage())
	e.stats.write(&m)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write([]byte(m.String()))
}

func (s *stats) write(m *metricText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.counter("vllm:prompt_tokens_total", s.prompts)
	m.counter("vllm:prompt_tokens_cached_total", s.cached)
	m.counter("vllm:generation_tokens_total", s.tokens)
	m.counter("vllm:prefix_cache_queries_total", s.prompts)
	m.counter("vllm:prefix_cache_hits_total", s.cached)
	m.counter("vllm:num_preemptions_total", 0)
	const success = "vllm:request_success_total"
	m.head(success, "counter")
	for _, reason := range [...]string{"stop", "length", "tool_calls"} {
		m.sample(success, fmt.Sprintf(`,finished_reason="%s"`, reason), float64(s.finished[reason]))
	}
	m.sample(success, `,finished_reason="abort"`, float64(s.aborted))
	const steps = "vllm:iteration_tokens_total"
	m.head(steps, "histogram")
	m.sample(steps+"_bucket", `,le="+Inf"`, float64(s.steps))
	m.sample(steps+"_sum", "", float64(s.prompts+s.tokens))
	m.sample(steps+"_count", "", float64(s.steps))
	const first = "vllm:time_to_first_token_seconds"
	m.head(first, "histogram")
	var sum int64
	for i, bound := range firstTokenBuckets {
		sum += s.firstTokens[i]
		m.sample(first+"_bucket", fmt.Sprintf(`,le="%g"`, bound), float64(sum))
	}
	m.sample(first+"_bucket", `,le="+Inf"`, float64(s.firstTokenCount))
	m.sample(first+"_sum", "", s.firstTokenSum.Seconds())
	m.sample(first+"_count", "", float64(s.firstTokenCount))
}

// metricText gathers samples.
type metricText struct {
	strings.Builder
	model string
}

func (m *metricText) head(name, kind string) { fmt.Fprintf(m, "# TYPE %s %s\n", name, kind) }

func (m *metricText) sample(name, labels string, v float64) {
	fmt.Fprintf(m, "%s{model_name=\"%s\",engine=\"0\"%s} %g\n", name, m.model, labels, v)
}

func (m *metricText) gauge(name string, v float64) {
	m.head(name, "gauge")
	m.sample(name, "", v)
}

func (m *metricText) counter(name string, v int64) {
	m.head(name, "counter")
	m.sample(name, "", float64(v))
}
