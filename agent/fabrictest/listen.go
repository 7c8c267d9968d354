package fabrictest

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// connectTime is how long the end that listens takes connections.
	connectTime = 10 * time.Second
	// proofTime is how long one may take to show that it knows the secret.
	proofTime = 5 * time.Second
	// strangers is how many connections beside those of the test are looked at.
	strangers = 16
	// maxBytes bounds a test: more than 30 seconds of 800 Gbit/s.
	maxBytes = 4 << 40
	chunk    = 1 << 20
	echoSize = 64
)

var (
	// ErrBusy says that the node is an end of another test.
	ErrBusy = errors.New("this node is in another fabric test; ask again when that is over")
	// ErrStranger says that an end did not show that it knows the secret.
	ErrStranger = errors.New("the other end does not know the secret of this test")
)

// Tester is one node's end of tests, one at a time. The zero value is ready; it is not
// copied.
type Tester struct {
	// Program is the path of ib_write_bw. Empty: it is looked for.
	Program string

	mu sync.Mutex
	// secret is that of the test that runs, end ends it, and over is closed then. Nil:
	// none runs.
	secret string
	end    func()
	over   chan struct{}
}

// handover is how long the step before of a test may take to end.
const handover = 5 * time.Second

// take makes this node an end of a test, until release is called. What the same test
// did here before is ended by end; another test is in the way.
func (t *Tester) take(secret string, end func()) (release func(), err error) {
	late := time.NewTimer(handover)
	defer late.Stop()
	for {
		t.mu.Lock()
		before, over := t.end, t.over
		if over == nil {
			over := make(chan struct{})
			t.secret, t.end, t.over = secret, end, over
			t.mu.Unlock()
			return sync.OnceFunc(func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.secret, t.end, t.over = "", nil, nil
				close(over)
			}), nil
		}
		same := subtle.ConstantTimeCompare([]byte(t.secret), []byte(secret)) == 1
		t.mu.Unlock()
		if !same {
			return nil, ErrBusy
		}
		before()
		select {
		case <-over:
		case <-late.C:
			return nil, ErrBusy
		}
	}
}

// Listening is an end that waits for the other.
type Listening struct {
	ln      *net.TCPListener // nil: ib listens
	ib      *ibRun
	args    protocol.FabricTestArgs
	report  protocol.FabricTestReport
	release func()
}

// check says what is wrong with the arguments.
func check(a protocol.FabricTestArgs) error {
	switch {
	case len(a.Secret) < 16:
		return errors.New("a fabric test needs a secret of at least 16 letters")
	case a.Streams < 1 || a.Streams > protocol.FabricTestStreams:
		return fmt.Errorf("a fabric test has 1 to %d streams, not %d", protocol.FabricTestStreams, a.Streams)
	case a.Seconds < 1 || a.Seconds > protocol.FabricTestSeconds:
		return fmt.Errorf("a fabric test takes 1 to %d seconds, not %d", protocol.FabricTestSeconds, a.Seconds)
	}
	return nil
}

// Listen opens a port for one test. The caller closes what it answers.
func (t *Tester) Listen(args protocol.FabricTestArgs) (*Listening, error) {
	if err := check(args); err != nil {
		return nil, err
	}
	at, err := own(args)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	release, err := t.take(args.Secret, end)
	if err != nil {
		return nil, err
	}
	l, err := t.open(args, at)
	if err != nil {
		release()
		return nil, err
	}
	go func() {
		<-ended
		l.stop()
	}()
	l.release = func() { end(); release() }
	return l, nil
}

func (t *Tester) open(args protocol.FabricTestArgs, at netip.Addr) (*Listening, error) {
	if args.Device != "" {
		return t.listenIB(args, at)
	}
	ln, err := listen(at)
	if err != nil {
		return nil, err
	}
	return &Listening{ln: ln, args: args, report: protocol.FabricTestReport{Address: at.String(), Port: tcpPort(ln)}}, nil
}

func tcpPort(ln *net.TCPListener) int { return int(ln.Addr().(*net.TCPAddr).AddrPort().Port()) }

// own is the address of this node that is tested.
func own(args protocol.FabricTestArgs) (netip.Addr, error) {
	if args.Interface != "" {
		return addressOf(args.Interface)
	}
	at, err := netip.ParseAddr(args.Address)
	if err != nil || at.IsUnspecified() {
		return netip.Addr{}, errors.New("a fabric test needs an address of this node to listen on")
	}
	return at, nil
}

// addressOf is the first address of a network device that others can reach.
func addressOf(device string) (netip.Addr, error) {
	none := fmt.Errorf("the network device %q has no IP address here; give it one, or test without naming a fabric", device)
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Addr{}, none
	}
	list, err := dev.Addrs()
	if err != nil {
		return netip.Addr{}, none
	}
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr().Unmap(), nil
		}
	}
	return netip.Addr{}, none
}

func listen(at netip.Addr) (*net.TCPListener, error) {
	var last error
	for port := protocol.FabricTestPortMin; port <= protocol.FabricTestPortMax; port++ {
		ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, uint16(port))))
		if err == nil {
			return ln, nil
		}
		last = err
	}
	return nil, fmt.Errorf("none of the ports %d to %d can be opened: %w", protocol.FabricTestPortMin, protocol.FabricTestPortMax, last)
}

// Report says where it listens.
func (l *Listening) Report() protocol.FabricTestReport { return l.report }

// Close ends it.
func (l *Listening) Close() {
	l.stop()
	if l.ib != nil {
		<-l.ib.done
	}
	l.release()
}

// stop has it end soon.
func (l *Listening) stop() {
	if l.ib != nil {
		l.ib.end()
		return
	}
	_ = l.ln.Close()
}

// Serve takes the connections of the test and answers when they have ended. It is
// over at the end of ctx at the latest.
func (l *Listening) Serve(ctx context.Context) error {
	defer l.Close()
	if l.ib != nil {
		select {
		case <-l.ib.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.ib.err != nil {
			return fmt.Errorf("ib_write_bw: %s", l.ib.why())
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.args.Seconds)*time.Second+protocol.FabricTestSlack)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.ln.Close() })()
	if err := l.ln.SetDeadline(time.Now().Add(connectTime)); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	var proved atomic.Int32
	for range l.args.Streams + 1 + strangers {
		c, err := l.ln.AcceptTCP()
		if err != nil {
			if int(proved.Load()) > l.args.Streams {
				return nil
			}
			cancel()
			return fmt.Errorf("the other end did not come with all its connections: %w", err)
		}
		all.Go(func() {
			defer func() { _ = c.Close() }()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			k, err := l.meet(c)
			if err != nil {
				return
			}
			if n := int(proved.Add(1)); n > l.args.Streams {
				_ = l.ln.Close() // that were all
				if n > l.args.Streams+1 {
					return
				}
			}
			if k == kindEcho {
				echo(c)
			} else {
				count(c, maxBytes/int64(l.args.Streams))
			}
		})
	}
	return nil
}

func (l *Listening) meet(c net.Conn) (kind, error) {
	if err := c.SetDeadline(time.Now().Add(proofTime)); err != nil {
		return 0, err
	}
	k, err := admit(c, l.args.Secret)
	if err != nil {
		return 0, err
	}
	return k, c.SetDeadline(time.Time{})
}

// echo gives back what comes, until the other end closes.
func echo(c net.Conn) {
	buf := make([]byte, echoSize)
	for {
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}

// count reads until the other end has sent all, and tells it how much that was.
func count(c net.Conn, limit int64) {
	buf := make([]byte, chunk)
	var n int64
	for n < limit {
		m, err := c.Read(buf)
		n += int64(m)
		if errors.Is(err, io.EOF) {
			_, _ = c.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
			return
		}
		if err != nil {
			return
		}
	}
}

// hostPort joins an address and a port.
func hostPort(address string, port int) string { return net.JoinHostPort(address, strconv.Itoa(port)) }
