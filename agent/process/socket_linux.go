package process

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socket is one that listens.
type socket struct {
	addr  netip.AddrPort
	uid   int
	inode string
}

// Listens says who listens at an address: this process's tree, another, or nobody
// (held is false). Where it cannot be told whose a socket is, it is held by this
// tree: what answers there still has to know the engine's key.
func (p *Process) Listens(at netip.AddrPort) (ours, held bool) {
	s, held := listener(at)
	switch {
	case !held:
		return false, false
	case p.tree.UID != 0:
		return s.uid == p.tree.UID, true
	}
	sure := true
	for _, pid := range p.tree.members(!p.adopted) {
		has, known := holds(pid, s.inode)
		if has {
			return true, true
		}
		// One that has just ended holds nothing.
		sure = sure && (known || uidOf(pid) < 0)
	}
	// A tree that is ending has no members left to ask.
	return !sure || p.Ended(), true
}

// listener finds the socket that takes connections to an address.
func listener(at netip.AddrPort) (socket, bool) {
	var any socket
	found := false
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, s := range listeners(string(data)) {
			switch {
			case s.addr.Port() != at.Port():
			case s.addr.Addr().Unmap() == at.Addr().Unmap():
				return s, true
			case s.addr.Addr().IsUnspecified():
				any, found = s, true
			}
		}
	}
	return any, found
}

// listeners reads the kernel's list of sockets.
func listeners(text string) []socket {
	const listening = "0A"
	var out []socket
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listening {
			continue
		}
		addr, ok := parseAddr(f[1])
		uid, err := strconv.Atoi(f[7])
		if ok && err == nil {
			out = append(out, socket{addr: addr, uid: uid, inode: f[9]})
		}
	}
	return out
}

// parseAddr reads an address as the kernel prints it: words of the machine's order,
// and the port.
func parseAddr(text string) (netip.AddrPort, bool) {
	ip, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(ip)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.BigEndian.PutUint32(b[i:], binary.NativeEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr, uint16(n)), ok
}

// holds reports whether a process has a socket open; known is false when it may
// not be looked at.
func holds(pid int, inode string) (has, known bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false, false
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(filepath.Join(dir, fd.Name())); to == "socket:["+inode+"]" {
			return true, true
		}
	}
	return false, true
}
