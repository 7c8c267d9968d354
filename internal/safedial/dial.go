package safedial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// DialContext connects to host:port if the policy lets it. It looks the name up
// once, refuses it if any of its addresses is refused, and connects to those
// very addresses. Its errors are ErrRefused and ErrUnreachable.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, p.refused(address, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, p.refused(address, err)
	}
	target, err := p.host(host, uint16(port))
	if err != nil {
		return nil, p.refused(address, err)
	}
	dialing, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()
	addrs, err := p.resolve(dialing, target)
	if err != nil {
		return nil, p.failed(ctx, address, err)
	}
	conn, err := p.connect(dialing, network, addrs)
	if err != nil {
		return nil, p.failed(ctx, address, err)
	}
	return conn, nil
}

// resolve gives addresses all of which are allowed.
func (p *Policy) resolve(ctx context.Context, t hostPort) ([]netip.AddrPort, error) {
	addrs := []netip.Addr{t.addr}
	if !t.addr.IsValid() {
		var err error
		if addrs, err = p.cfg.Resolve(ctx, t.host); err != nil {
			return nil, fmt.Errorf("look up: %w", err)
		}
	}
	if len(addrs) == 0 {
		return nil, errors.New("look up: no address")
	}
	out := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		out[i] = netip.AddrPortFrom(a.Unmap(), t.port)
		// One bad address spoils the name: who controls it chooses what comes next.
		if err := p.judge(out[i]); err != nil {
			return nil, errors.Join(ErrRefused, err)
		}
	}
	return out, nil
}

// connect tries the addresses in turn, each for its share of the time left.
func (p *Policy) connect(ctx context.Context, network string, addrs []netip.AddrPort) (net.Conn, error) {
	var errs []error
	for i, ap := range addrs {
		share, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok {
			share, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addrs)-i))
		}
		conn, err := p.dialer.DialContext(share, network, ap.String())
		cancel()
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// control is called with the address of each socket just before it connects.
// Nothing lies between this check and the connection, so no second look-up, no
// parser and no caller can slip another address in.
func (p *Policy) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return errors.Join(ErrRefused, fmt.Errorf("network %s is not allowed", network))
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.Join(ErrRefused, err)
	}
	if err := p.judge(ap); err != nil {
		return errors.Join(ErrRefused, err)
	}
	return nil
}

// failed turns a cause into what callers may know, and tells the log the rest.
// The caller's own end of patience is no secret and stays as it is.
func (p *Policy) failed(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, ErrRefused) {
		return p.refused(address, err)
	}
	p.log.Info("safedial: not reached", "policy", p.cfg.Name, "address", address, "err", err)
	return ErrUnreachable
}

func (p *Policy) refused(address string, err error) error {
	p.log.Warn("safedial: refused", "policy", p.cfg.Name, "address", address, "err", err)
	return ErrRefused
}
