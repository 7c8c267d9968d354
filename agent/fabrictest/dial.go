package fabrictest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	// maxEchoes and echoTime bound the measurement of latency.
	maxEchoes = 2000
	echoTime  = time.Second
)

// Dial connects to the end that listens and measures.
func (t *Tester) Dial(ctx context.Context, args protocol.FabricTestArgs) (protocol.FabricTestReport, error) {
	var none protocol.FabricTestReport
	if err := check(args); err != nil {
		return none, err
	}
	if args.Port < protocol.FabricTestPortMin || args.Port > protocol.FabricTestPortMax {
		return none, fmt.Errorf("a fabric test goes to the ports %d to %d, not to %d", protocol.FabricTestPortMin, protocol.FabricTestPortMax, args.Port)
	}
	if _, err := netip.ParseAddr(args.Address); err != nil {
		return none, errors.New("a fabric test needs the address of the other end")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(args.Seconds)*time.Second+protocol.FabricTestSlack)
	defer cancel()
	release, err := t.take(args.Secret, cancel)
	if err != nil {
		return none, err
	}
	defer release()
	by := measure
	if args.Device != "" {
		by = t.dialIB
	}
	report, err := by(ctx, args)
	if err != nil {
		return none, fmt.Errorf("the test with %s failed: %w", hostPort(args.Address, args.Port), err)
	}
	return report, nil
}

func measure(ctx context.Context, args protocol.FabricTestArgs) (r protocol.FabricTestReport, err error) {
	c, done, err := connect(ctx, args, kindEcho)
	if err != nil {
		return r, err
	}
	echoes, err := echoTimes(c)
	done()
	if err != nil {
		return r, fmt.Errorf("echo: %w", err)
	}
	r.P50US, r.P99US = micros(percentile(echoes, .50)), micros(percentile(echoes, .99))
	var conns []*net.TCPConn
	for range args.Streams {
		c, done, err := connect(ctx, args, kindBulk)
		if err != nil {
			return r, err
		}
		defer done()
		conns = append(conns, c)
	}
	bytes, took, err := flood(conns, time.Duration(args.Seconds)*time.Second)
	r.Bytes, r.TookUS = bytes, took.Microseconds()
	return r, err
}

// connect opens one connection of the test. It is closed by done, and at the end
// of ctx.
func connect(ctx context.Context, args protocol.FabricTestArgs, k kind) (_ *net.TCPConn, done func(), err error) {
	d := net.Dialer{Timeout: proofTime}
	if args.Interface != "" {
		from, err := addressOf(args.Interface)
		if err != nil {
			return nil, nil, err
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := d.DialContext(ctx, "tcp", hostPort(args.Address, args.Port))
	if err != nil {
		return nil, nil, fmt.Errorf("%w; look whether a firewall lets the ports %d to %d pass", err, protocol.FabricTestPortMin, protocol.FabricTestPortMax)
	}
	c := conn.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	done = func() {
		stop()
		_ = c.Close()
	}
	err = c.SetDeadline(time.Now().Add(proofTime))
	if err == nil {
		err = introduce(c, args.Secret, k)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return c, done, nil
}

// echoTimes are how long small echoes took, one after another.
func echoTimes(c net.Conn) ([]time.Duration, error) {
	buf := make([]byte, echoSize)
	out := make([]time.Duration, 0, maxEchoes)
	begin := time.Now()
	for len(out) < maxEchoes && (len(out) == 0 || time.Since(begin) < echoTime) {
		at := time.Now()
		if _, err := c.Write(buf); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return nil, err
		}
		out = append(out, time.Since(at))
	}
	return out, nil
}

// percentile is the smallest value that the share p of all does not exceed. Zero
// where there is none.
func percentile(of []time.Duration, p float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(len(sorted), max(1, int(math.Ceil(p*float64(len(sorted))))))-1]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// flood sends by all connections at once, and answers what the other end counted
// and how long it took until it had.
func flood(conns []*net.TCPConn, span time.Duration) (bytes int64, took time.Duration, err error) {
	type sent struct {
		n   int64
		err error
	}
	results := make(chan sent, len(conns))
	begin := time.Now()
	for _, c := range conns {
		go func() {
			n, err := send(c, begin.Add(span), maxBytes/int64(len(conns))-chunk)
			results <- sent{n, err}
		}()
	}
	for range conns {
		r := <-results
		if r.err != nil && err == nil {
			err = fmt.Errorf("a stream broke off: %w", r.err)
			for _, c := range conns {
				_ = c.Close()
			}
		}
		bytes += r.n
	}
	return bytes, time.Since(begin), err
}

// send writes until end, at most limit bytes, and answers what the other end says
// that it has got.
func send(c *net.TCPConn, end time.Time, limit int64) (int64, error) {
	buf := make([]byte, chunk)
	for sent := int64(0); sent < limit && time.Now().Before(end); {
		n, err := c.Write(buf[:min(chunk, limit-sent)])
		if err != nil {
			return 0, err
		}
		sent += int64(n)
	}
	if err := c.CloseWrite(); err != nil {
		return 0, err
	}
	said := make([]byte, 8)
	if _, err := io.ReadFull(c, said); err != nil {
		return 0, err
	}
	return int64(min(binary.BigEndian.Uint64(said), maxBytes)), nil
}
