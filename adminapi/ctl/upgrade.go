package ctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) upgradeNodes() *cli.Command {
	return o.leaf(leaf{
		name: "upgrade", usage: "Upgrade a node's agent to a release", args: []string{"NODE"}, more: true, none: true, ops: []string{"UpgradeNode"}, do: upgradeNodes,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "the release's tag, such as v1.2.3"},
			&cli.BoolFlag{Name: "all", Usage: "every node"},
			&cli.IntFlag{Name: "wave", Usage: "how many nodes at once; the next ones begin when these run it and are as they were", Value: 1},
			&cli.DurationFlag{Name: "timeout", Usage: "how long a node may take until it runs it", Value: 10 * time.Minute},
		},
	})
}

// nodeUpgrade is what became of one node.
type nodeUpgrade struct {
	Node  string `json:"node"`
	From  string `json:"from,omitempty"`
	State string `json:"state"` // done, failed, not begun
	Error string `json:"error,omitempty"`

	before view.Node
}

const (
	upgradeDone     = "done"
	upgradeFailed   = "failed"
	upgradeNotBegun = "not begun"
)

// upgradeNodes goes over nodes in waves, and stops at the first that fails.
func upgradeNodes(ctx context.Context, s *session) error {
	version := s.String("version")
	if version == "" {
		return usagef("say which release: --version v1.2.3")
	}
	if s.Int("wave") < 1 {
		return usagef("--wave must be 1 or more")
	}
	list, err := s.nodesToUpgrade(ctx, version)
	if err != nil {
		return err
	}
	u := &upgrading{s: s, version: version}
	var todo []*nodeUpgrade
	for _, n := range list {
		if n.State == "" {
			n.State = upgradeNotBegun
			todo = append(todo, n)
		}
	}
	for wave := range slices.Chunk(todo, s.Int("wave")) {
		if !u.wave(ctx, wave) {
			break
		}
	}
	if err := s.show(list, func() grid { return upgradeGrid(list) }); err != nil {
		return err
	}
	return upgradeOutcome(list, version)
}

func upgradeGrid(list []*nodeUpgrade) grid {
	g := grid{head: []any{"node", "from", "state", "note"}, none: "There are no nodes."}
	for _, n := range list {
		g.add(n.Node, n.From, n.State, n.Error)
	}
	return g
}

// upgradeOutcome is nil when every node runs the version.
func upgradeOutcome(list []*nodeUpgrade, version string) error {
	by := map[string][]string{}
	for _, n := range list {
		by[n.State] = append(by[n.State], n.Node)
	}
	if len(by[upgradeDone]) == len(list) {
		return nil
	}
	text := fmt.Sprintf("%d of %d nodes run %s", len(by[upgradeDone]), len(list), version)
	for _, state := range []string{upgradeFailed, upgradeNotBegun} {
		if len(by[state]) > 0 {
			text += fmt.Sprintf("; %s: %s", state, strings.Join(by[state], ", "))
		}
	}
	return errors.New(text + "; the same command goes on where it stopped")
}

// nodesToUpgrade are those that were named, or all. Those that run the version are
// done, and of all those that nobody hears of are left out with a word.
func (s *session) nodesToUpgrade(ctx context.Context, version string) ([]*nodeUpgrade, error) {
	all, names := s.Bool("all"), s.Args().Slice()
	if all == (len(names) > 0) {
		return nil, usagef("name nodes, or give --all, and not both")
	}
	nodes, err := adminclient.All(func(cursor string) ([]view.Node, string, error) {
		return s.client.Nodes(ctx, adminclient.List{Cursor: cursor})
	})
	if err != nil {
		return nil, err
	}
	out := []*nodeUpgrade{}
	for _, n := range nodes {
		at := slices.Index(names, n.ID)
		if !all && at < 0 {
			continue
		}
		u := &nodeUpgrade{Node: n.ID, From: n.AgentVersion, before: n}
		switch {
		case n.AgentVersion == version && (n.Upgrade == nil || n.Upgrade.State == upgradeDone || n.Upgrade.To != version):
			u.State = upgradeDone
		case all && (n.State == "lost" || n.State == "unreachable"):
			u.State, u.Error = upgradeNotBegun, "it is "+n.State
		}
		out = append(out, u)
		names = slices.DeleteFunc(names, func(name string) bool { return name == n.ID })
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("there is no node %q, so none was upgraded; nodes list shows what there is", names[0])
	}
	slices.SortFunc(out, func(a, b *nodeUpgrade) int { return cmp.Compare(a.Node, b.Node) })
	return out, nil
}

// upgrading is one run of the command.
type upgrading struct {
	s       *session
	version string
	mu      sync.Mutex
}

// wave upgrades some nodes at once, and reports whether all run the version.
func (u *upgrading) wave(ctx context.Context, nodes []*nodeUpgrade) bool {
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			n.State = upgradeDone
			if err := u.one(ctx, n); err != nil {
				n.State, n.Error = upgradeFailed, u.s.explain(ctx, err).Error()
			}
			u.tell(n, n.State+" "+n.Error)
		})
	}
	all.Wait()
	return !slices.ContainsFunc(nodes, func(n *nodeUpgrade) bool { return n.State != upgradeDone })
}

// tell says how far a node is: people wait for minutes.
func (u *upgrading) tell(n *nodeUpgrade, what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.s.note("%s: %s", printable(n.Node), printable(strings.TrimSpace(what)))
}

// one upgrades a node and waits until it runs the version and is as it was before.
func (u *upgrading) one(ctx context.Context, n *nodeUpgrade) error {
	ctx, cancel := context.WithTimeoutCause(ctx, u.s.Duration("timeout"), errors.New("out of time"))
	defer cancel()
	if _, err := u.s.client.UpgradeNode(ctx, n.Node, view.NodeUpgradeRequest{Version: u.version}); err != nil {
		return u.late(ctx, err)
	}
	u.tell(n, "has taken "+u.version)
	every := time.NewTicker(u.s.every)
	defer every.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return u.late(ctx, ctx.Err())
		case <-every.C:
		}
		now, err := u.s.client.Node(ctx, n.Node)
		switch {
		case err == nil:
			failed = 0
			if done, err := u.judge(n, now); done {
				return err
			}
		case !worthAnother(ctx, err, true) || failed >= patience:
			return u.late(ctx, err)
		default:
			failed++
		}
	}
}

func (u *upgrading) late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it does not run %s after %s; nodes get shows its upgrade, and nodes logs what its agent says", u.version, u.s.Duration("timeout"))
	}
	return err
}

// judge says whether there is nothing more to wait for, and how it ended. What was
// told of an upgrade before this one does not count.
func (u *upgrading) judge(n *nodeUpgrade, now view.Node) (done bool, err error) {
	last, before := now.Upgrade, n.before.Upgrade
	fresh := last != nil && last.To == u.version && (before == nil || *before != *last)
	switch {
	case fresh && last.State == upgradeFailed:
		return true, errors.New(last.Error)
	case now.AgentVersion != u.version || last != nil && last.To == u.version && last.State != upgradeDone:
		return false, nil
	}
	want := n.before.State
	if want == "unreachable" || want == "lost" {
		want = "ready"
	}
	return now.State == want, nil
}
