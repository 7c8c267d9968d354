package upstreamtest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/router/upstream"
)

// Client is what is tested; see upstream.Pool.
type Client interface {
	Do(replica string, req *http.Request) (*http.Response, error)
	Forget(replica string)
	CloseIdle()
}

// Suite says what is tested.
type Suite struct {
	// Open makes a client.
	Open func(upstream.Config) Client
	// Gate makes the replicas gates of the node n1, with this as their side of TLS.
	// Nil: they are plain HTTP/1.1.
	Gate *tls.Config
	// Strict clients refuse what net/http lets pass; see the framings.
	Strict bool
}

// patience bounds what would otherwise wait for ever in a test that fails.
const patience = 20 * time.Second

// Run runs every test.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Suite){
		"framings": framings, "refused": refusals, "broken": brokenOff,
		"reuse": reuse, "no cap": noCap, "replicas apart": apart, "stale": stale, "stale twice": staleTwice, "not again": notAgain,
		"forget": forget, "idle": idleEnds, "connect": connectEnds,
		"bodies": bodies, "early answer": earlyAnswer, "body fails": bodyFails, "bad requests": badRequests,
		"cancelled": cancelled, "closed early": closedEarly, "many at once": manyAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// got is what came of a request.
type got struct {
	status int
	header http.Header
	length int64
	body   string
	err    error // of the request or of reading its body
}

func do(client Client, replica string, req *http.Request) got {
	res, err := client.Do(replica, req)
	if err != nil {
		return got{err: err}
	}
	b, err := io.ReadAll(res.Body)
	return got{status: res.StatusCode, header: res.Header, length: res.ContentLength, body: string(b), err: errors.Join(err, res.Body.Close())}
}

// request makes one that may be sent again.
func request(t *testing.T, ctx context.Context, method, address string, body io.Reader) *http.Request {
	t.Helper()
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	req, err := http.NewRequestWithContext(ctx, method, address+"/v1/x", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Idempotency-Key"] = nil // net/http sends again only what has one
	return req
}
