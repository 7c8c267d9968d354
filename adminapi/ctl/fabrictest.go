package ctl

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) fabricTest() *cli.Command {
	return o.leaf(leaf{name: "fabric-test", usage: "Measure the network between two nodes", args: []string{"FROM", "TO"}, ops: []string{"FabricTest"}, do: fabricTest, flags: []cli.Flag{
		&cli.StringFlag{Name: "fabric", Usage: "the fabric to test; the way between the management addresses when left out"},
		&cli.IntFlag{Name: "seconds", Usage: "how long is sent, at most 30", Value: 5},
	}})
}

func fabricTest(ctx context.Context, s *session) error {
	v, err := s.client.FabricTest(ctx, view.FabricTestRequest{From: s.arg(0), To: s.arg(1), Fabric: s.String("fabric"), Seconds: s.Int("seconds")})
	if err != nil {
		return err
	}
	return s.show(v, func() grid {
		g := grid{head: []any{"from", "to", "method", "gbit/s", "expected", "p50", "p99", "ok", "note"}}
		expected := "unknown"
		if v.ExpectedGbps != nil {
			expected = fmt.Sprintf("%.0f", *v.ExpectedGbps)
		}
		g.add(v.From, v.To, v.Method, fmt.Sprintf("%.2f", v.Gbps), expected, fmt.Sprintf("%.0f µs", v.LatencyUSP50), fmt.Sprintf("%.0f µs", v.LatencyUSP99), v.OK, v.Text)
		return g
	})
}
