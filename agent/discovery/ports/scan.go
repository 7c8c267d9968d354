package ports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

// CanScan reports whether a map can be made here: there is an adapter, and the
// tool is installed.
func (r *Reader) CanScan() bool {
	found, err := r.adapters()
	if err != nil || len(found) == 0 {
		return false
	}
	_, err = find(r.cfg.Tools.IBNetDiscover, "ibnetdiscover")
	return err == nil
}

// Scan walks the fabric that a port is on, one walk at a time. A walk that failed
// is a result with an Error; an error says what is wrong with the question.
func (r *Reader) Scan(ctx context.Context, args protocol.ScanArgs) (protocol.ScanResult, error) {
	path, err := find(r.cfg.Tools.IBNetDiscover, "ibnetdiscover")
	if err != nil {
		return protocol.ScanResult{}, fmt.Errorf("ibnetdiscover is not installed; %s", installDiags)
	}
	if err := r.hasPort(args); err != nil {
		return protocol.ScanResult{}, err
	}
	select {
	case r.scanning <- struct{}{}:
		defer func() { <-r.scanning }()
	default:
		return protocol.ScanResult{}, errors.New("another walk is under way on this node; wait for its end")
	}
	begun := time.Now()
	out, err := r.tool(ctx, protocol.ScanTime, protocol.MaxScan, path, "-C", args.HCA, "-P", strconv.Itoa(args.Port), "-t", packetLimit)
	result := protocol.ScanResult{By: fmt.Sprintf("%s/%d", args.HCA, args.Port), TookMS: time.Since(begun).Milliseconds()}
	if err != nil {
		result.Error = err.Error() // what was printed until then is a part of the map
	}
	if err := result.Put(out); err != nil {
		result.Error = err.Error()
	}
	return result, nil
}

// hasPort looks whether the question is about a port of this machine: its words
// come from afar and go to a program.
func (r *Reader) hasPort(args protocol.ScanArgs) error {
	found, err := r.adapters()
	if err != nil {
		return err
	}
	for _, a := range found {
		if a.name != args.HCA || !slices.Contains(a.ports, args.Port) {
			continue
		}
		p, err := r.port(a, args.Port)
		switch {
		case err != nil:
			return fmt.Errorf("the state of port %s/%d cannot be read: %w", args.HCA, args.Port, err)
		case p.LinkLayer != layerInfiniBand:
			return fmt.Errorf("port %s/%d is on no InfiniBand fabric; ask for one that is", args.HCA, args.Port)
		}
		return nil
	}
	return fmt.Errorf("this node has no port %.40q/%d; ask for one of its facts", args.HCA, args.Port)
}
