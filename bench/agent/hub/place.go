package main

import (
	"fmt"
	"net"
	"net/netip"
)

// perBlock is how many agents have their addresses in one block of 256.
const perBlock = 250

// addressOf is where an agent calls from: each has a loopback address of its own.
func addressOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(20 + i/perBlock/256), byte(i / perBlock % 256), byte(1 + i%perBlock)})
}

// indexOf is which agent calls from an address.
func indexOf(remote string) (int, error) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return 0, err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return 0, err
	}
	b := a.As4()
	return ((int(b[1])-20)*256+int(b[2]))*perBlock + int(b[3]) - 1, nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }
