package reconciler

import (
	"slices"
	"strings"
	"time"

	"llmgw.io/llmgw/catalog"
)

// Scheduled is the highest floor of the windows that are open. Times are UTC,
// From is in the window and Until is not; a window that passes midnight belongs
// to the day on which it opens. One that does not read is never open: the
// catalog refuses it.
func Scheduled(windows []catalog.Window, now time.Time) int {
	floor := 0
	for _, w := range windows {
		if open(w, now.UTC()) {
			floor = max(floor, w.Min)
		}
	}
	return floor
}

func open(w catalog.Window, now time.Time) bool {
	start, fromReads := catalog.ClockMinutes(w.From)
	end, untilReads := catalog.ClockMinutes(w.Until)
	if !fromReads || !untilReads {
		return false
	}
	at := minuteOf(now)
	if start < end {
		return onDay(w, now) && at >= start && at < end
	}
	return (onDay(w, now) && at >= start) || (onDay(w, now.AddDate(0, 0, -1)) && at < end)
}

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

func onDay(w catalog.Window, t time.Time) bool {
	day := strings.ToLower(t.Weekday().String()[:3])
	return len(w.Days) == 0 || slices.Contains(w.Days, day)
}
