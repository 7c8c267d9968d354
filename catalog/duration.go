package catalog

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a span that travels as integer nanoseconds and is also read from
// Go's form ("10m").
type Duration time.Duration

// MarshalJSON writes integer nanoseconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(int64(d)) }

// UnmarshalJSON reads integer nanoseconds or a string in Go's form.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		v, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write one such as \"10m\" or nanoseconds as a whole number", s)
		}
		*d = Duration(v)
		return nil
	}
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("%s is not a duration; write one such as \"10m\" or nanoseconds as a whole number", b)
	}
	*d = Duration(n)
	return nil
}

// String is Go's form of the span.
func (d Duration) String() string { return time.Duration(d).String() }
