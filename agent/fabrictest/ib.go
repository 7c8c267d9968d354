package fabrictest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// layerInfiniBand is what ports call their link.
const layerInfiniBand = "InfiniBand"

// portPair is two ports on one InfiniBand fabric.
type portPair struct {
	from, to *inventory.Port
	// fabric is what it is called.
	fabric string
}

// pairOf finds the first active InfiniBand ports of two nodes on a fabric that is
// named, or without a name on any that they share. None: there is nothing to test by
// adapters alone.
func pairOf(q Question) (p portPair, ok bool) {
	for i := range q.From.Facts.Ports {
		from := &q.From.Facts.Ports[i]
		if !onInfiniBand(from) || q.Fabric != "" && from.Fabric != q.Fabric && from.Physical != q.Fabric {
			continue
		}
		for j := range q.To.Facts.Ports {
			to := &q.To.Facts.Ports[j]
			if !onInfiniBand(to) || to.ReachKey() != from.ReachKey() {
				continue
			}
			p = portPair{from: from, to: to, fabric: q.Fabric}
			if p.fabric == "" {
				p.fabric = from.Fabric
			}
			if p.fabric == "" {
				p.fabric = from.Physical
			}
			return p, true
		}
	}
	return p, false
}

func onInfiniBand(p *inventory.Port) bool {
	return p.Active && p.LinkLayer == layerInfiniBand && p.ReachKey() != ""
}

// unfit says why ib_write_bw cannot be used between two nodes that share a fabric.
// Empty: it can.
func unfit(q Question) string {
	for _, n := range []*inventory.Node{q.From, q.To} {
		if !slices.Contains(n.Facts.Features, protocol.FeatureIBWrite) {
			return fmt.Sprintf("node %s has no ib_write_bw; install the package perftest there", n.ID)
		}
	}
	if at, err := netip.ParseAddr(q.To.Facts.MgmtAddr); err != nil || !at.Unmap().Is4() {
		return fmt.Sprintf("node %s has no IPv4 management address, by which ib_write_bw begins", q.To.ID)
	}
	return ""
}

// byAdapters has ib_write_bw measure between two ports. The secret stays between the
// control plane and the agents: the program knows none, so that whoever reaches its
// port in these seconds can spoil the test, and learns nothing.
func byAdapters(ctx context.Context, a Asker, q Question, p portPair, secret string) (gbps float64, err error) {
	args := protocol.FabricTestArgs{
		Role: protocol.FabricTestListen, Secret: secret, Address: q.To.Facts.MgmtAddr, Streams: 1, Seconds: q.Seconds,
		Device: p.to.HCA, DevicePort: max(1, p.to.Port),
	}
	within := time.Duration(q.Seconds)*time.Second + protocol.FabricTestSlack
	var at, got protocol.FabricTestReport
	if err := a.Ask(ctx, q.To.ID, protocol.AskFabricTest, args, within+protocol.FabricTestSlack, &at); err != nil {
		return 0, err
	}
	args.Role, args.Address, args.Port = protocol.FabricTestDial, at.Address, at.Port
	args.Device, args.DevicePort = p.from.HCA, max(1, p.from.Port)
	if err := a.Ask(ctx, q.From.ID, protocol.AskFabricTest, args, within, &got); err != nil {
		return 0, err
	}
	if !(got.Gbps > 0 && got.Gbps <= mostGbps) {
		return 0, errors.New("nothing was measured")
	}
	return got.Gbps, nil
}

// judgeIB says what the adapters carried, and whether that is good. Echoes are TCP's.
func judgeIB(q Question, p portPair, gbps float64, echoes protocol.FabricTestReport, noEchoes error) Outcome {
	o := Outcome{
		Method: MethodIBWrite, Fabric: p.fabric, Gbps: gbps, P50US: max(0, echoes.P50US), P99US: max(0, echoes.P99US),
		ExpectedGbps: float64(min(p.from.RateGbps, p.to.RateGbps)),
	}
	o.OK = gbps >= goodShareIB*o.ExpectedGbps
	o.Text = fmt.Sprintf("ib_write_bw carried %.2f Gbit/s from %s of %s to %s of %s", gbps, p.from.HCA, q.From.ID, p.to.HCA, q.To.ID)
	switch {
	case o.ExpectedGbps == 0:
		o.Text += "; nobody knows how much it should be"
	case o.OK:
		o.Text += fmt.Sprintf("; the slower port has %.0f Gbit/s, and three quarters of that are good", o.ExpectedGbps)
	default:
		o.Text += fmt.Sprintf("; the slower port has %.0f Gbit/s, and less than three quarters of that is too little: look at cables, errors of the ports, and the adapters' places on the bus", o.ExpectedGbps)
	}
	if noEchoes != nil {
		o.Text += "; echoes were not timed: " + noEchoes.Error()
	} else {
		o.Text += fmt.Sprintf("; half of the echoes, which went by TCP, took less than %.0f µs", o.P50US)
	}
	return o
}
