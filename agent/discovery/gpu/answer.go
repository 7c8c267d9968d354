package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// answer is what a child that reads the driver prints.
type answer struct {
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Error    string    `json:"error,omitempty"`
	// Absent says that there is no driver to read.
	Absent bool `json:"absent,omitempty"`
}

// PrintSnapshot reads the driver in this process and prints the answer for
// [Child]. Errors of the driver are a part of it. It is the body of the hidden
// command of the agent, and of nothing else.
func PrintSnapshot(w io.Writer, library string) error {
	var a answer
	s, err := ReadDriver(library)
	if err != nil {
		a.Error, a.Absent = err.Error(), errors.Is(err, ErrNoDriver)
	} else {
		a.Snapshot = &s
	}
	return json.NewEncoder(w).Encode(a)
}

// decode reads what PrintSnapshot printed.
func decode(b []byte) (Snapshot, error) {
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		return Snapshot{}, fmt.Errorf("gpu: the answer of reading the driver is garbled: %w", err)
	}
	switch {
	case a.Absent:
		return Snapshot{}, said{a.Error, ErrNoDriver}
	case a.Error != "":
		return Snapshot{}, said{a.Error, nil}
	case a.Snapshot == nil:
		return Snapshot{}, errors.New("gpu: the answer of reading the driver is empty")
	}
	return *a.Snapshot, nil
}

// said is an error that came as text from another process.
type said struct {
	text string
	kind error
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return s.kind }

// PrintEvents prints the driver's messages as JSON, a line each, until the input
// ends, as it does when the agent ends. It is the body of a hidden command.
func PrintEvents(ctx context.Context, in io.Reader, w io.Writer, library string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	out := json.NewEncoder(w)
	var broken error
	err := ReadEvents(ctx, library, func(e Event) {
		if err := out.Encode(e); err != nil {
			broken = err
			cancel()
		}
	})
	return errors.Join(err, broken)
}

// readEvents reads what PrintEvents prints, until it ends.
func readEvents(r io.Reader, now func() time.Time, tell func(Event)) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, mostRead)
	for s.Scan() {
		var e Event
		if json.Unmarshal(s.Bytes(), &e) == nil && (e.XID != 0 || e.OffBus) {
			e.At, e.Old = now(), false
			tell(e)
		}
	}
}
