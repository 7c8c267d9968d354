package main

// rows are the figures that the router is held to, and their goals.
func (r *results) rows() []row {
	rows := []row{
		r.cpu("json-c32", "llmgw", "CPU a request, as shipped, ratio to goproxy's", 1.3),
		r.cpu("json-c32", "llmgw-bare", "CPU a request, features off, ratio to goproxy's", 0.8),
		r.ownCPU(),
		r.newConnections(),
		r.addedLatency(),
		r.best99(),
		r.cpu("sse-paced-c64", "llmgw", "CPU a chunk, ratio to goproxy's", 1.0),
		r.chunkDelay(),
		r.cpu("json-64k-c8", "llmgw", "CPU a request, prefix hashes included, ratio to goproxy's", 1.3),
	}
	rows = append(rows, r.footprint()...)
	rows = append(rows, r.idleStreams())
	return append(rows, r.faults()...)
}

// cpu compares CPU times within a round.
func (r *results) cpu(scenario, target, what string, most float64) row {
	return r.median(row{scenario: scenario, what: what, most: most, unit: "x"}, target, func(s sample) (float64, bool) {
		base, ok := r.of("goproxy", scenario, s.Round)
		return s.CPUPerReq / base.CPUPerReq, ok && base.CPUPerReq > 0
	})
}

// ownCPU compares 256 clients with 32.
func (r *results) ownCPU() row {
	g := row{scenario: "json-c256", what: "CPU a request, ratio to its own json-c32", most: 1.3, unit: "x"}
	return r.median(g, "llmgw", func(s sample) (float64, bool) {
		few, ok := r.of("llmgw", "json-c32", s.Round)
		return s.CPUPerReq / few.CPUPerReq, ok && few.CPUPerReq > 0
	})
}

func (r *results) newConnections() row {
	g := row{scenario: "json-c256", what: "new engine connections a 1,000 requests after the first second", most: 5}
	return r.median(g, "llmgw", func(s sample) (float64, bool) {
		return 1000 * float64(s.UpConns) / float64(s.UpReqs), s.UpReqs > 0
	})
}

func (r *results) addedLatency() row {
	g := row{scenario: "json-c1", what: "added p50, ratio to goproxy's", most: 1.25, unit: "x"}
	return r.median(g, "llmgw", func(s sample) (float64, bool) {
		direct, ok := r.of("direct", g.scenario, s.Round)
		base, ok2 := r.of("goproxy", g.scenario, s.Round)
		return (s.P50 - direct.P50) / (base.P50 - direct.P50), ok && ok2 && base.P50 > direct.P50
	})
}

// best99 compares the best rounds, since the 99th percentile is the neighbours'
// where a machine is shared.
func (r *results) best99() row {
	g := row{scenario: "json-500rps", what: "p99 of the best round, ratio to goproxy's", most: 1.5, unit: "x"}
	best := func(target string) (least float64) {
		samples, errors := r.rounds(target, g.scenario)
		if target == "llmgw" {
			g.errors = errors
		}
		for _, s := range samples {
			if least == 0 || s.P99 < least {
				least = s.P99
			}
		}
		return least
	}
	ours, theirs := best("llmgw"), best("goproxy")
	if g.there = ours > 0 && theirs > 0; g.there {
		g.is = ours / theirs
	}
	return g
}

func (r *results) chunkDelay() row {
	g := row{scenario: "sse-paced-c64", what: "added chunk delay p50, beyond goproxy's", most: 20, unit: "µs"}
	return r.median(g, "llmgw", func(s sample) (float64, bool) {
		base, ok := r.of("goproxy", g.scenario, s.Round)
		return s.Delay50 - base.Delay50, ok
	})
}

// footprint is of the whole run.
func (r *results) footprint() []row {
	start := row{scenario: "all", what: "resident memory at start", most: 45, unit: "MiB"}
	peak := row{scenario: "all", what: "resident memory at its peak", most: 80, unit: "MiB"}
	ready := row{scenario: "all", what: "process start to first answer", most: 150, unit: "ms"}
	for _, s := range r.Samples {
		if s.Target != "llmgw" {
			continue
		}
		start.is, peak.is, ready.is = max(start.is, s.Idle), max(peak.is, s.Peak), max(ready.is, s.ReadyMS)
		start.there, peak.there, ready.there = true, true, true
	}
	return []row{start, peak, ready}
}

func (r *results) idleStreams() row {
	g := row{scenario: "idle-5k", what: "memory a stream, ratio to goproxy's", most: 0.6, unit: "x"}
	var base float64
	for _, x := range r.Idle {
		switch x.Target {
		case "llmgw":
			g.is, g.there, g.errors = x.PerStream, true, x.Asked-x.Good
		case "goproxy":
			base = x.PerStream
		}
	}
	if g.there = g.there && base > 0; g.there {
		g.is /= base
	}
	return g
}

func (r *results) faults() []row {
	var rows []row
	for _, f := range r.Faults.Gone {
		rows = append(rows, row{
			scenario: "client gone", what: f.Route + ", " + f.Stage + ": engine told, p99", is: f.P99MS, there: f.Told > 0,
			most: 20, unit: "ms", errors: f.Trials - f.Told,
		})
	}
	if len(rows) == 0 {
		rows = append(rows, row{scenario: "client gone", what: "engine told, p99", most: 20, unit: "ms"})
	}
	return append(rows, row{
		scenario: "4 MiB prompt", what: "memory allocated, in bodies", is: r.Faults.Bodies, there: r.Faults.Bodies > 0, most: 2,
	}, row{
		scenario: "replica killed", what: "requests that failed, at 500 a second", is: float64(r.Faults.Failed), there: r.Faults.Sent > 0, most: 0,
	}, row{
		scenario: "replica ready", what: "a request that waited is sent, p99", is: r.Faults.HeldMS, there: r.Faults.HeldMS > 0, most: 20, unit: "ms",
	})
}
