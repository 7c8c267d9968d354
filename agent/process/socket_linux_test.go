package process

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestListeners(t *testing.T) {
	t.Parallel()
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000 64001        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:4E21 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4243 1 0000000000000000 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1
   3: 00000000000000000000000001000000:4E22 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 5 0 78 1
   4: zz:4E22 00000000:0000 0A 00000000:00000000 00:00000000 00000000 5 0 79 1
   5: 0100007F
`
	want := []socket{
		{netip.MustParseAddrPort("127.0.0.1:20001"), 64001, "4242"},
		{netip.MustParseAddrPort("0.0.0.0:22"), 0, "77"},
		{netip.MustParseAddrPort("[::1]:20002"), 5, "78"},
	}
	if got := listeners(text); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestListens(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(l.Addr().(*net.TCPAddr).Port))

		p, _ := start(t, "sleep 1000")
		if ours, held := p.Listens(addr); ours || !held {
			t.Errorf("at %s, where another listens: ours %t, held %t", at, ours, held)
		}
		_ = l.Close()
		if ours, held := p.Listens(addr); ours || held {
			t.Errorf("at %s, where nobody listens any more: ours %t, held %t", at, ours, held)
		}
	}
}
