package adminclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"llmgw.io/llmgw/adminapi/view"
)

// Error is a refused request.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is a word of the API's closed list. Empty: something else than a
	// control plane answered.
	Code string
	// Text is the sentence to show, with the mend where there is one.
	Text string
	// RequestID names the request in the control plane's log.
	RequestID string
}

// Error is the sentence.
func (e *Error) Error() string { return e.Text }

// refusal reads the error view; what has none did not come from a control
// plane.
func refusal(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	var v view.Error
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(b, &v) == nil && v.Error != "" {
		e.Code, e.Text = v.Code, v.Error
		return e
	}
	e.Text = fmt.Sprintf("%s answered with status %d and not as a control plane does; is the address right?", resp.Request.URL.Host, resp.StatusCode)
	return e
}
