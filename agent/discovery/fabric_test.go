package discovery

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/discovery/ports"
)

// withPort is a machine with a port that is up, one of an excluded adapter, and
// channels for IMEX.
func withPort() tree {
	port := "sys/class/infiniband/ibp3/ports/1/"
	return whole().with(tree{
		port + "state": "4: ACTIVE\n", port + "phys_state": "5: LinkUp\n", port + "rate": "400 Gb/sec (4X NDR)\n", port + "link_layer": "InfiniBand\n",
		port + "counters/port_xmit_data": "1000\n", port + "counters/symbol_error": "7\n",
		"sys/class/infiniband/odd_0/ports/1/state": "4: ACTIVE\n",
		"proc/devices":                           "234 nvidia-caps-imex-channels\n",
		"dev/nvidia-caps-imex-channels/channel0": "x",
	})
}

func TestPortsAreFactsAndTheirCountersAreNot(t *testing.T) {
	t.Parallel()
	none := t.TempDir() + "/none"
	p := withPort().prober(t, func(c *Config) {
		c.Ports = ports.Config{Exclude: []string{"odd_*"}, Dev: strings.TrimSuffix(c.Sys, "sys") + "dev"}
		c.Ports.Tools = ports.Tools{SMInfo: none, IBNetDiscover: none, IMEXCtl: none, Systemctl: none}
	})
	f := p.Facts(t.Context())
	if len(f.Ports) != 1 || f.Ports[0].HCA != "ibp3" || !f.Ports[0].Active || f.Ports[0].RateGbps != 400 || len(f.Warnings) != 0 {
		t.Errorf("want one active port, got %+v, %q", f.Ports, f.Warnings)
	}
	if f.IMEX != "" || f.IMEXChannels == nil || *f.IMEXChannels != 1 {
		t.Errorf("want one channel and no service, got %q %v", f.IMEX, f.IMEXChannels)
	}
	s := p.Sample(t.Context())
	if len(s.Ports) != 1 || s.Ports[0].TxBytes == nil || *s.Ports[0].TxBytes != 4000 || s.Ports[0].Errors["symbol_error"] != 7 {
		t.Errorf("want its counters, got %+v", s.Ports)
	}
	if p.Fabric().CanScan() {
		t.Error("a walk without the tool")
	}
}
