package gpu

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The scripts say what was seen and heard of cards, line by line with the time
// since the line before, and the answer is what each card is then.
//
//	+15s see A B:recovery=1,ecc=2   a snapshot: what it lacks is lost
//	+1s hear A 79                   a message of the driver, XID 79
//	+1s hear A bus                  its word that the card fell off the bus
//	+1s old A 48                    a message from before the agent's start
//	+10m look                       nothing happens, and time goes by
func TestHealthScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/health", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := script{t: t, now: time.Date(2030, 1, 2, 10, 0, 0, 0, time.UTC), said: map[string]string{}}
			for line := range strings.SplitSeq(d.Input, "\n") {
				s.line(line)
			}
			return s.out.String()
		})
	})
}

type script struct {
	t    *testing.T
	now  time.Time
	h    Health
	said map[string]string
	out  strings.Builder
}

func (s *script) line(line string) {
	f := strings.Fields(line)
	if len(f) < 2 {
		s.t.Fatalf("%q is no line of a script", line)
	}
	wait, err := time.ParseDuration(strings.TrimPrefix(f[0], "+"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.now = s.now.Add(wait)
	switch f[1] {
	case "see":
		var cards []Card
		for i, w := range f[2:] {
			cards = append(cards, s.card(i, w))
		}
		s.h.See(s.now, cards)
	case "hear", "old":
		e := Event{At: s.now, PCI: pciOf(f[2]), Old: f[1] == "old", OffBus: f[3] == "bus"}
		if !e.OffBus {
			e.XID, err = strconv.Atoi(f[3])
			if err != nil {
				s.t.Fatal(err)
			}
		}
		s.h.Hear(s.now, e)
	case "look":
	default:
		s.t.Fatalf("%q is no line of a script", line)
	}
	// What changed, and nothing else.
	for _, c := range s.h.Known() {
		is := s.h.Problem(s.now, c.key())
		if is == "" {
			is = "fine"
		}
		for _, w := range s.h.Warnings(s.now, c.key(), 0) {
			is += " (" + w + ")"
		}
		if s.said[c.key()] != is {
			s.said[c.key()] = is
			fmt.Fprintf(&s.out, "%s %s: %s\n", s.now.Format("15:04:05"), c.key(), is)
		}
	}
}

func pciOf(name string) string { return fmt.Sprintf("0000:%02x:00.0", name[0]) }

// card reads "A:recovery=1,ecc=2".
func (s *script) card(index int, word string) Card {
	name, rest, _ := strings.Cut(word, ":")
	c := Card{Index: index, UUID: name, PCI: pciOf(name), Name: "card"}
	for kv := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(kv, "=")
		n, _ := strconv.Atoi(v)
		n64, on, bits := int64(n), n != 0, uint64(n)
		switch k {
		case "":
		case "recovery":
			c.State.Recovery = &n
		case "ecc":
			c.State.Uncorrected = &n64
		case "energy":
			c.State.Energy = &n64
		case "remap":
			c.State.RemapPending = &on
		case "remapfailed":
			c.State.RemapFailed = &on
		case "retire":
			c.State.RetirePending = &on
		case "sram":
			c.State.SRAMWorn = &on
		case "width":
			sixteen := 16
			c.State.Width, c.State.MaxWidth = &n, &sixteen
		case "slowed":
			c.State.Slowed = &bits
		case "links":
			c.LinksUp = &n
		case "fabric":
			c.Fabric = &Fabric{State: n, Cluster: noCluster}
		case "status":
			c.Fabric.Status = n
		case "mask":
			c.Fabric.Health = uint32(n)
		case "lost":
			c.Lost = "GPU is lost"
		default:
			s.t.Fatalf("%q is nothing of a card", kv)
		}
	}
	return c
}
