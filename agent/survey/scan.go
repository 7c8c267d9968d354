package survey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/inventory/topology"
)

// ErrFailed says that an agent walked a fabric and got no map.
var ErrFailed = errors.New("survey: there is no map")

const (
	// tries is how many nodes are asked for one map, one after the other.
	tries = 2
	// mostScans are kept; the oldest goes first.
	mostScans = 64
)

// Newest is the newest scan of a network. False: there was none since the start.
func (s *Survey) Newest(key string) (fabrics.Scan, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scan, ok := s.scans[key]
	return scan, ok
}

// Scan has a network walked, and answers its newest map: that of a moment ago
// where there is one. Its error matches fabrics.ErrNoScanner, ErrFailed, or is the
// Asker's.
func (s *Survey) Scan(ctx context.Context, key string) (fabrics.Scan, error) {
	turn := s.turn(key)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fabrics.Scan{}, ctx.Err()
	}
	if scan, ok := s.Newest(key); ok && scan.Map != nil && time.Since(scan.At) < s.cfg.Fresh {
		return scan, nil
	}
	ports := fabrics.Scanners(s.cfg.Fleet.Snapshot().Nodes(), s.Memory(), key, string(protocol.AskScan))
	if len(ports) == 0 {
		return fabrics.Scan{}, fmt.Errorf("%w: none of its nodes is heard and has ibnetdiscover; install infiniband-diags on one", fabrics.ErrNoScanner)
	}
	var failed error
	begun := time.Now()
	for _, p := range ports[:min(len(ports), tries)] {
		scan, err := s.walk(ctx, p)
		if ctx.Err() != nil {
			return fabrics.Scan{}, ctx.Err()
		}
		kept := s.keep(key, begun, scan)
		if err == nil {
			return kept, nil
		}
		failed = err
	}
	return fabrics.Scan{}, failed
}

// turn is what who walks a network holds.
func (s *Survey) turn(key string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[key] == nil {
		s.turns[key] = make(chan struct{}, 1)
	}
	return s.turns[key]
}

// walk asks one node. The scan says how it went, whatever the error.
func (s *Survey) walk(ctx context.Context, p fabrics.Port) (fabrics.Scan, error) {
	scan := fabrics.Scan{By: fmt.Sprintf("%s %s/%d", p.Node, p.HCA, p.Port)}
	res, err := s.cfg.Asker.Scan(ctx, p.Node, protocol.ScanArgs{HCA: p.HCA, Port: p.Port})
	scan.At, scan.Took = time.Now(), time.Duration(res.TookMS)*time.Millisecond
	if err != nil {
		scan.Error = err.Error()
		return scan, err
	}
	scan.Map, scan.Error = read(&res)
	if scan.Map == nil {
		return scan, fmt.Errorf("%w of %s: %s", ErrFailed, scan.By, scan.Error)
	}
	return scan, nil
}

// read reads the map of an answer, and what is missing of it.
func read(res *protocol.ScanResult) (*topology.Map, string) {
	text, err := res.Map()
	if err != nil {
		return nil, err.Error()
	}
	if text == "" && res.Error != "" {
		return nil, res.Error
	}
	m, err := topology.Parse(text)
	if err != nil {
		if res.Error != "" {
			return nil, res.Error
		}
		return nil, err.Error()
	}
	if res.Error != "" {
		return &m, res.Error
	}
	return &m, m.Gap()
}

// keep keeps a scan under the key that the network has now: its manager may have
// changed since the walk began.
func (s *Survey) keep(key string, begun time.Time, scan fabrics.Scan) fabrics.Scan {
	for _, c := range s.Memory().Changes() {
		if inventory.KeySM+c.From == key && !c.At.Before(begun) {
			key = c.Key
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scans[key] = s.scans[key].Next(scan)
	if len(s.scans) > mostScans {
		s.dropOldest()
	}
	return s.scans[key]
}

func (s *Survey) dropOldest() {
	oldest := ""
	for key, scan := range s.scans {
		if oldest == "" || scan.At.Before(s.scans[oldest].At) {
			oldest = key
		}
	}
	delete(s.scans, oldest)
}
