package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// FabricRule gives a name to the ports that it matches.
type FabricRule struct {
	Name string `json:"name"`
	// Match is key=value, and more of them with commas between, all of which must
	// hold. A key is a label of the node ("llmgw.io/rack", or "rack" for short), or
	// hca, sm_guid or network, which are the port's. Values of labels and hca may
	// have the wildcards * and ?; sm_guid is that of any manager of the network, the
	// standing-by ones too; network is one that the port's lies in ("10.1.0.0/16").
	Match string `json:"match"`
}

// maxFabricName is how many bytes the name of a fabric may have.
const maxFabricName = 64

// FabricNames name ports by rules, the first that matches. Nil names none.
// Reading them is safe at once.
type FabricNames struct {
	rules []fabricRule
}

type fabricRule struct {
	name  string
	tests []portTest
}

// portTest reports whether a port of a node is meant.
type portTest func(n *Node, p *Port) bool

// NewFabricNames checks rules, and returns all complaints at once, in order.
func NewFabricNames(rules []FabricRule) (*FabricNames, error) {
	var all []error
	out := &FabricNames{}
	for i, r := range rules {
		tests, err := portTests(r.Match)
		if err == nil && !fabricWord(r.Name) {
			err = fmt.Errorf("%q cannot be the name of a fabric: letters, digits, dots and dashes, and not \"any\"", clip(r.Name))
		}
		if err != nil {
			all = append(all, fmt.Errorf("fabrics[%d]: %w", i, err))
		}
		out.rules = append(out.rules, fabricRule{name: r.Name, tests: tests})
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	if len(out.rules) == 0 {
		return nil, nil
	}
	return out, nil
}

const fabricLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// fabricWord reports whether a fabric may be called so. Profiles say "any" for
// whichever.
func fabricWord(s string) bool {
	return s != "" && len(s) <= maxFabricName && s != "any" && !strings.ContainsFunc(s, func(c rune) bool {
		return !strings.ContainsRune(fabricLetters, c)
	})
}

func portTests(match string) ([]portTest, error) {
	var out []portTest
	for part := range strings.SplitSeq(match, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || key == "" || value == "" {
			return nil, fmt.Errorf("match: %q is not key=value; write such as rack=r12-*,hca=mlx5_*", clip(part))
		}
		t, err := portTestOf(key, value)
		if err != nil {
			return nil, fmt.Errorf("match: %s: %w", clip(part), err)
		}
		out = append(out, t)
	}
	return out, nil
}

func portTestOf(key, value string) (portTest, error) {
	switch key {
	case "sm_guid":
		guid := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(value, "0x"), ":", ""))
		if len(guid) != 16 || strings.Trim(guid, "0123456789abcdef") != "" {
			return nil, errors.New("want 16 hexadecimal digits, as sminfo prints them")
		}
		return func(_ *Node, p *Port) bool { return p.managedBy(guid) }, nil
	case "network":
		within, err := netip.ParsePrefix(value)
		if err != nil {
			return nil, errors.New("want a network such as 10.1.0.0/16")
		}
		return func(_ *Node, p *Port) bool {
			network, err := netip.ParsePrefix(p.Network)
			return err == nil && network.Bits() >= within.Bits() && within.Contains(network.Addr())
		}, nil
	}
	if _, err := path.Match(value, ""); err != nil {
		return nil, errors.New("the wildcards are not closed; * stands for any text, ? for one letter")
	}
	if key == "hca" {
		return func(_ *Node, p *Port) bool { return glob(value, p.HCA) }, nil
	}
	return func(n *Node, _ *Port) bool {
		v := n.Label(key)
		if v == "" {
			v = n.Label(LabelPrefix + key)
		}
		return v != "" && glob(value, v)
	}, nil
}

// glob matches a pattern that was checked. A slash is a letter like any other.
func glob(pattern, s string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return ok
}

// managedBy reports whether a manager of the port's network has the GUID.
func (p *Port) managedBy(guid string) bool {
	return p.Physical == KeySM+guid || slices.ContainsFunc(p.SMs, func(m SubnetManager) bool { return m.GUID == guid })
}

// Of is the name of a port of a node. Empty: no rule matches.
func (f *FabricNames) Of(n *Node, p *Port) string {
	if f == nil {
		return ""
	}
	for i := range f.rules {
		r := &f.rules[i]
		if !slices.ContainsFunc(r.tests, func(t portTest) bool { return !t(n, p) }) {
			return r.name
		}
	}
	return ""
}

// given reports whether a rule gives the name.
func (f *FabricNames) given(name string) bool {
	return slices.ContainsFunc(f.rules, func(r fabricRule) bool { return r.name == name })
}

// name gives the node's ports their names. A port that no rule matches keeps the
// name that its agent said. What the node was given is not changed.
func (f *FabricNames) name(n *Node) {
	if f == nil || len(n.Facts.Ports) == 0 {
		return
	}
	ports := slices.Clone(n.Facts.Ports)
	for i := range ports {
		p := &ports[i]
		if name := f.Of(n, p); name != "" {
			p.Fabric = name
		} else if f.given(p.Fabric) {
			p.Fabric = ""
		}
	}
	n.Facts.Ports = ports
}
