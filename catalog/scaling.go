package catalog

// Scaling says how many replicas there should be.
type Scaling struct {
	Min int `json:"min"`
	// Max absent follows min. An explicit 0 beside min 0 means none at all.
	Max *int `json:"max,omitempty"`
	// IdleTimeout is after how long without a request an on-demand replica is
	// stopped. Zero means 15 minutes.
	IdleTimeout Duration `json:"idle_timeout,omitempty"`
	Schedule    []Window `json:"schedule,omitempty"`
}

// Window asks for at least Min replicas in a weekly window, in UTC.
type Window struct {
	// Days are "mon" … "sun". Empty: every day.
	Days []string `json:"days,omitempty"`
	// From and Until read "08:00"; a window may pass midnight.
	From  string `json:"from"`
	Until string `json:"until"`
	Min   int    `json:"min"`
}

// Bounds returns the least and the most replicas in force.
func (m *Model) Bounds() (least, most int) {
	s := m.Scaling
	if s == nil {
		return 1, 1
	}
	if s.Max == nil {
		return s.Min, s.Min
	}
	return s.Min, *s.Max
}

// OnDemand reports whether the model runs only while it is asked for: min 0
// with max of at least 1.
func (m *Model) OnDemand() bool {
	least, most := m.Bounds()
	return least == 0 && most >= 1
}
