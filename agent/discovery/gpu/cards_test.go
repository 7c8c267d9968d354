package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// source is a driver that says what it is told to.
type source struct {
	cards []Card
	err   error
	asked int
	hook  func()
}

func (s *source) Snapshot(context.Context) (Snapshot, error) {
	s.asked++
	if s.hook != nil {
		s.hook()
	}
	if s.err != nil {
		return Snapshot{}, s.err
	}
	return Snapshot{Driver: "580.95.05", CUDA: "13.0", Cards: s.cards}, nil
}

// cards are those of an empty machine with the source.
func cards(t *testing.T, s Source, change func(*Config)) *Cards {
	t.Helper()
	cfg := Config{Source: s, Sys: t.TempDir(), Proc: t.TempDir()}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func report(t *testing.T, c *Cards) Report {
	t.Helper()
	time.Sleep(2 * time.Second) // in a bubble: nobody takes the reading before
	r, err := c.Report(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func problems(r Report) string {
	var out []string
	for _, d := range r.Devices {
		out = append(out, d.Label+": "+d.Problem)
	}
	return strings.Join(out, "\n")
}

// A driver that does not answer for a moment is told; after a minute its cards
// are out, and they are back with it.
func TestCardsOfADriverThatFallsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{cards: []Card{h100(0, 0x18), h100(1, 0x20)}}
		c := cards(t, s, nil)
		if r := report(t, c); r.Driver != "580.95.05" || r.CUDA != "13.0" || len(r.Devices) != 2 || len(r.Warnings) != 0 {
			t.Errorf("got %+v", r)
		}
		s.err = fmt.Errorf("%w within 20s", ErrSilent)
		r := report(t, c)
		if problems(r) != "0: \n1: " || len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0], "UTC: the driver does not answer within 20s") {
			t.Errorf("for a moment, got %q and\n%s", r.Warnings, problems(r))
		}
		if used, err := c.Used(t.Context()); !errors.Is(err, ErrSilent) {
			t.Errorf("nobody knows what is used, got %v, %v", used, err)
		}
		if got := c.Sensors(t.Context()); got != nil {
			t.Errorf("nobody measures, got %v", got)
		}
		time.Sleep(silence)
		r = report(t, c)
		if n := strings.Count(problems(r), "Nothing is known of it since 2000-01-01 00:00 UTC: the driver does not answer within 20s."); n != 2 {
			t.Errorf("after a minute, got\n%s", problems(r))
		}
		again, _ := c.Report(t.Context(), 0)
		if d := cmp.Diff(r, again); d != "" {
			t.Errorf("facts that nothing changed move:\n%s", d)
		}
		s.err = nil
		if r = report(t, c); problems(r) != "0: \n1: " || len(r.Warnings) != 0 {
			t.Errorf("when it answers again, got %q and\n%s", r.Warnings, problems(r))
		}
	})
}

// What the driver said reaches the card, and one that is lost keeps its number.
func TestCardsHearAndRemember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{cards: []Card{h100(0, 0x18), h100(1, 0x20), h100(2, 0x28)}}
		var heard []Event
		c := cards(t, s, func(cfg *Config) {
			cfg.Heard = func() []Event {
				defer func() { heard = nil }()
				return heard
			}
		})
		report(t, c)
		heard = []Event{{PCI: "0000:18:00.0", XID: 48}}
		s.cards = []Card{h100(0, 0x18), h100(1, 0x28)}
		const want = "0: The driver reported XID 48: two bits of its memory were wrong at once. Reset it.\n" +
			"1: It fell off the bus: the driver does not list it any more. Restart the machine; when that does not help, look at the card's seat and power.\n2: "
		if got := problems(report(t, c)); got != want {
			t.Errorf("got\n%s", got)
		}
		temp, used := 50.0, int64(7)
		s.cards[1].Sensors = Sensors{TempC: &temp, UsedMB: &used}
		time.Sleep(2 * time.Second)
		if d := cmp.Diff([]inventory.GPUSensor{{Card: 0}, {Card: 2, TempC: &temp, MemoryUsedMB: &used}}, c.Sensors(t.Context())); d != "" {
			t.Errorf("sensors are by our numbers (-want +got):\n%s", d)
		}
		if got, err := c.Used(t.Context()); err != nil || !cmp.Equal(got, map[int]int64{2: 7}) {
			t.Errorf("want what is used by our numbers, got %v, %v", got, err)
		}
	})
}

// Who asks at once shares a reading; who asks later gets a new one.
func TestReadingsAreFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used := int64(5)
		x := h100(0, 0x18)
		x.MIG = &MIG{On: true, Instances: []Instance{{Index: 2, UsedMB: &used}, {Index: 3}}}
		s := &source{cards: []Card{x}}
		c := cards(t, s, nil)
		for range 3 {
			if got, err := c.Used(t.Context()); err != nil || !cmp.Equal(got, map[int]int64{102: 5}) {
				t.Errorf("want the instance's own, got %v, %v", got, err)
			}
		}
		if s.asked != 1 {
			t.Errorf("want one reading, got %d", s.asked)
		}
		time.Sleep(fresh)
		if _, err := c.Used(t.Context()); err != nil || s.asked != 2 {
			t.Errorf("want a second reading, got %d, %v", s.asked, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.err, s.hook = context.Canceled, cancel
		time.Sleep(fresh)
		if _, err := c.Used(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("want that who asked went away, got %v", err)
		}
		s.err, s.hook = nil, nil
		if r := report(t, c); len(r.Warnings) != 0 {
			t.Errorf("the driver is not to blame for that, got %q", r.Warnings)
		}
	})
}

// A driver that never answered: what the kernel's files say.
func TestMachinesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	none := fmt.Errorf("%w: libnvidia-ml.so.1 is not installed", ErrNoDriver)
	bad := errors.New("gpu: of different versions")
	for name, c := range map[string]struct {
		cards   int
		err     error
		devices bool // it is known that there are none
		warning string
		fails   bool
	}{
		"no card and no driver":   {0, none, true, "", false},
		"no card and a failure":   {0, bad, false, "", true},
		"a card without a driver": {1, none, false, "1 NVIDIA GPUs are on the bus (1 of them have a driver) and are not used: no driver's library: libnvidia-ml.so.1 is not installed", false},
		"a card and a failure":    {1, bad, false, "1 NVIDIA GPUs are on the bus (1 of them have a driver) and are not used: of different versions", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine{t, t.TempDir()}
			if c.cards > 0 {
				m.device("0000:18:00.0", "0x10de", "0x030200", "nvidia")
			}
			x := cards(t, &source{err: c.err}, func(cfg *Config) { cfg.Sys, cfg.Proc = m.root+"/sys", m.root+"/proc" })
			r, err := x.Report(t.Context(), 0)
			if (err != nil) != c.fails || (r.Devices != nil) != c.devices || len(r.Devices) > 0 || strings.Join(r.Warnings, "\n") != c.warning {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}
