package safedial

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// metadataNames are where clouds hand out credentials. Their addresses are
// refused too; the names are because a resolver may be told anything.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal",
	"instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com",
	"metadata.platformequinix.com", "metadata.packet.net", "rancher-metadata",
}

// ParseURL reads a URL that a person or another machine gave, once, and says
// what is wrong with it. The URL that comes back is the one to call; whoever
// parses the text again may read it otherwise. An address that only DNS tells is
// judged when it is connected to.
func (p *Policy) ParseURL(raw string) (*url.URL, error) {
	if err := plain(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's own words would repeat the whole URL.
		return nil, fmt.Errorf("%w: it cannot be read; write it as https://host/path", ErrURL)
	}
	if _, err := p.target(u); err != nil {
		return nil, err
	}
	return u, nil
}

// plain refuses what parsers of URLs are known to disagree about.
func plain(raw string) error {
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c == 0x7f || c == '\\' {
			return fmt.Errorf("%w: it has a space, a control character or a backslash in it", ErrURL)
		}
	}
	return nil
}

// target checks a URL as it is written and gives host and port to connect to.
func (p *Policy) target(u *url.URL) (hostPort, error) {
	var port uint16
	switch {
	case u.Scheme == "https":
		port = 443
	case u.Scheme == "http" && p.cfg.AllowHTTP:
		port = 80
	case u.Scheme == "http":
		return hostPort{}, fmt.Errorf("%w: plain http is not allowed here; use https", ErrURL)
	default:
		return hostPort{}, fmt.Errorf("%w: it must begin with https://", ErrURL)
	}
	if u.Opaque != "" || u.User != nil {
		return hostPort{}, fmt.Errorf("%w: it must be https://host/path, with no user or password in it", ErrURL)
	}
	host, portText := u.Hostname(), u.Port()
	if portText != "" {
		n, err := strconv.ParseUint(portText, 10, 16)
		if err != nil || n == 0 {
			return hostPort{}, fmt.Errorf("%w: its port is not from 1 to 65535", ErrURL)
		}
		port = uint16(n)
	} else if strings.HasSuffix(u.Host, ":") {
		return hostPort{}, fmt.Errorf("%w: a colon follows the host and no port", ErrURL)
	}
	if !p.portNamed(port) {
		return hostPort{}, fmt.Errorf("%w: port %d is not allowed here; allow its network and port in the configuration", ErrURL, port)
	}
	return p.host(host, port)
}

// portNamed says whether any address may be reached on a port. Which, is judged
// when it is connected to.
func (p *Policy) portNamed(port uint16) bool {
	return slices.Contains(p.cfg.Ports, port) ||
		slices.ContainsFunc(p.cfg.Allow, func(a Allow) bool { return a.Port == port })
}

// hostPort is a checked target. Addr is valid if the host is an address.
type hostPort struct {
	host string
	addr netip.Addr
	port uint16
}

func (p *Policy) host(host string, port uint16) (hostPort, error) {
	if strings.Contains(host, "%") {
		return hostPort{}, fmt.Errorf("%w: its host has a %% in it; a host is written plainly and has no zone", ErrURL)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return hostPort{host, addr, port}, nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if !validName(name) {
		return hostPort{}, fmt.Errorf("%w: its host is no host name; write names of other scripts in their ASCII form", ErrURL)
	}
	if slices.Contains(metadataNames, name) {
		return hostPort{}, fmt.Errorf("%w: its host is a metadata service", ErrURL)
	}
	return hostPort{host: name, port: port}, nil
}

// validName wants labels of letters, digits, '-' and '_', the last one no number.
// Resolvers take 127.1, 0x7f000001, 2130706433 or 0177.0.0.1 for addresses, each
// in its own way; we take no part in that.
func validName(name string) bool {
	if len(name) > 253 {
		return false
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return false
		}
		for i := range len(l) {
			c := l[i]
			letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
			if !letter && !digit && c != '-' && c != '_' {
				return false
			}
		}
	}
	return !numeric(labels[len(labels)-1])
}

func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
