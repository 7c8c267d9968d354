package ports

import (
	"strings"
	"testing"
	"time"
)

func TestFlapping(t *testing.T) {
	t.Parallel()
	const look = 15 * time.Second
	for _, c := range []struct {
		name string
		// looks are up (U) and down (d), 15 seconds apart; h waits for an hour.
		looks string
		want  string
	}{
		{"always up", "UUUUU", ""},
		{"never up: no cable", "dddddddd", ""},
		{"a blink", "UdUdUdUdU", ""},
		{"under 25 seconds", "UddUddUddUddU", ""},
		{"down", "Uddd", "was up and is down"},
		{"down and back", "UdddU", "is up again"},
		{"back for long", "UdddUhU", ""},
		{"twice", "UdddUdddUhU", ""},
		{"three times", "UdddUdddUdddU", "flaps"},
		{"three times, and long ago the first", "UdddUdddUhhhhhhhhhhhhUdddU", "is up again"},
		{"three times in eleven hours", "UdddUhhhhhUdddUhhhhhUdddU", "flaps"},
		{"down for good is one drop", "U" + strings.Repeat("d", 100), "was up and is down"},
		{"a day later", "UdddUdddUdddU" + strings.Repeat("h", 13) + "U", ""},
		{"a day later, still down", "UdddUdddUddd" + strings.Repeat("h", 13) + "d", "was up and is down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f flap
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for _, what := range c.looks {
				switch what {
				case 'h':
					now = now.Add(time.Hour)
				default:
					f.see(what == 'U', now)
					now = now.Add(look)
				}
			}
			got := strings.Join(f.warnings("ibp3/1", now), "; ")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

// What is said stays the same while it is so: it is a fact, and each change of
// it is sent.
func TestFlappingSaysTheSameEachTime(t *testing.T) {
	t.Parallel()
	var f flap
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	said := map[string]bool{}
	for i := range 400 {
		f.see(i%8 < 4, now)
		if i > 60 {
			said[strings.Join(f.warnings("ibp3/1", now), "")] = true
		}
		now = now.Add(15 * time.Second)
	}
	if len(said) != 1 {
		t.Errorf("it says %d things: %v", len(said), said)
	}
}
