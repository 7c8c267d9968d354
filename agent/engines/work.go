package engines

import "sync"

// work remembers how far engines had come, by address.
type work struct {
	mu   sync.Mutex
	came map[string]float64
}

// shown reports whether an engine's metrics show that it works: it has generated
// before, and either nobody waits for it, or it came further since it was last
// looked at. One that has requests and stands still shows nothing.
func (w *work) shown(address string, m measured, n names) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	came, known := w.came[address]
	if w.came == nil {
		w.came = map[string]float64{}
	}
	now, _ := m.progress(n)
	w.came[address] = now
	use := m.use(n)
	if now == 0 || use.Running < 0 {
		return false
	}
	return use.Running == 0 && use.Waiting <= 0 || known && now != came
}
