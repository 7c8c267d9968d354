//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

// replicasNow is what the control plane lists; of no name, all.
func (p *plane) replicasNow(name string) ([]view.Replica, error) {
	return adminclient.All(func(cursor string) ([]view.Replica, string, error) {
		return p.admin.Replicas(p.t.Context(), adminclient.ReplicaList{Model: name, List: adminclient.List{Cursor: cursor}})
	})
}

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// id is the request's, by which its record is found.
func (r reply) id() string { return r.header.Get("X-Request-Id") }

// code is the error's; empty when the answer is none.
func (r reply) code() string {
	var e struct {
		Error struct {
			Code any `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(r.body, &e)
	return fmt.Sprint(e.Error.Code)
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// client speaks the OpenAI API at an address.
type client struct{ base, key string }

func (p *plane) client() client { return client{base: p.Client, key: p.key} }

func (c client) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

// ask sends a request and reads the answer; a body that is a string goes as it is.
func (c client) ask(ctx context.Context, method, path string, body any) (reply, error) {
	resp, err := c.open(ctx, method, path, body)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: b}, err
}

// must is ask where nothing may fail but the request itself.
func (c client) must(t testing.TB, method, path string, body any) reply {
	t.Helper()
	r, err := c.ask(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// chat is the body of a chat request.
type chat struct {
	Model       string          `json:"model"`
	Messages    []message       `json:"messages"`
	Stream      bool            `json:"stream,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Temperature float64         `json:"temperature"`
	Seed        int             `json:"seed,omitempty"`
	Options     map[string]bool `json:"stream_options,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// say is a chat of one sentence.
func say(model, text string) chat {
	return chat{Model: model, Messages: []message{{"user", text}}, MaxTokens: 16}
}

func (c client) chat(t testing.TB, model string) reply {
	t.Helper()
	return c.must(t, http.MethodPost, "/v1/chat/completions", say(model, "hello there"))
}

// tokens are the counts that engines give.
type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// stream is an answer that is being read.
type stream struct {
	resp  *http.Response
	lines *bufio.Scanner
	stop  context.CancelFunc
	// text is what was said so far, usage what the last chunk counts, done
	// whether the end was marked, failed the error in the stream.
	text   strings.Builder
	usage  *tokens
	done   bool
	failed string
}

// stream opens a stream; a refusal is an error.
func (c client) stream(ctx context.Context, body chat) (*stream, error) {
	ctx, stop := context.WithCancel(ctx)
	body.Stream = true
	resp, err := c.open(ctx, http.MethodPost, "/v1/chat/completions", body)
	if err == nil && resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		err = fmt.Errorf("refused: %d %s", resp.StatusCode, b)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &stream{resp: resp, lines: bufio.NewScanner(resp.Body), stop: stop}, nil
}

func (c client) mustStream(t testing.TB, body chat) *stream {
	t.Helper()
	s, err := c.stream(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// next reads one event; false at the end.
func (s *stream) next() bool {
	for s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.done = true
			continue
		}
		var e struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
			Usage *tokens         `json:"usage"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			s.failed = "no JSON: " + data
			return true
		}
		if e.Error != nil {
			s.failed = string(e.Error)
		}
		for _, c := range e.Choices {
			s.text.WriteString(c.Delta.Content)
		}
		if e.Usage != nil {
			s.usage = e.Usage
		}
		return true
	}
	s.close()
	return false
}

// rest reads to the end and says what is wrong with it.
func (s *stream) rest() error {
	for s.next() {
	}
	switch {
	case s.failed != "":
		return errors.New("an error in the stream: " + s.failed)
	case s.lines.Err() != nil:
		return s.lines.Err()
	case !s.done:
		return errors.New("the stream ended without its mark")
	}
	return nil
}

func (s *stream) close() {
	s.stop()
	s.resp.Body.Close()
}
