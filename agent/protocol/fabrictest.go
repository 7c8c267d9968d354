package protocol

import "time"

// FabricTestRole is which end of a fabric test an agent is.
type FabricTestRole string

// The ends of a fabric test.
const (
	// FabricTestListen waits for the other end, and counts what comes.
	FabricTestListen FabricTestRole = "listen"
	// FabricTestDial connects to the end that listens, sends and measures.
	FabricTestDial FabricTestRole = "dial"
)

// FeatureIBWrite is in the features of an agent whose node has ib_write_bw, beside
// AskFabricTest.
const FeatureIBWrite = "fabric-test-ib"

const (
	// FabricTestSeconds is the longest that one fabric test sends.
	FabricTestSeconds = 30
	// FabricTestStreams is the most connections that send at once.
	FabricTestStreams = 16
	// FabricTestSlack is what an end may take beside the time of sending: to
	// connect, to echo and to count.
	FabricTestSlack = 15 * time.Second
	// FabricTestPortMin and FabricTestPortMax bound where an end listens.
	FabricTestPortMin, FabricTestPortMax = 18900, 18999
)

// FabricTestArgs are the arguments of AskFabricTest.
type FabricTestArgs struct {
	Role FabricTestRole `json:"role"`
	// Secret is known to both ends of this one test, and to nobody else.
	Secret string `json:"secret"`
	// Address is the node's own where it listens, and the other end's where it
	// dials. Empty where it listens: the one of Interface.
	Address string `json:"address,omitempty"`
	// Port is where the other end listens. Zero where this end does: a free one.
	Port int `json:"port,omitempty"`
	// Interface is the node's own network device that is tested. Empty: the one
	// that the address leads to.
	Interface string `json:"interface,omitempty"`
	// Device and DevicePort are the node's own adapter and its port ("mlx5_0", 1), where
	// ib_write_bw measures. Empty: streams of TCP do.
	Device     string `json:"device,omitempty"`
	DevicePort int    `json:"device_port,omitempty"`
	// Streams is how many connections send at once, Seconds how long.
	Streams int `json:"streams"`
	Seconds int `json:"seconds"`
}

// FabricTestReport is the answer to AskFabricTest. The end that listens says at
// once where, and goes on until the deadline at the latest; the one that dials
// says what it measured.
type FabricTestReport struct {
	Address string `json:"address,omitempty"`
	Port    int    `json:"port,omitempty"`
	// Bytes is what the other end counted, TookUS until its counts were here.
	Bytes  int64 `json:"bytes,omitempty"`
	TookUS int64 `json:"took_us,omitempty"`
	// Gbps is what ib_write_bw says that it measured.
	Gbps float64 `json:"gbps,omitempty"`
	// P50US and P99US are of the time of an echo, both ways, in microseconds.
	P50US float64 `json:"p50_us,omitempty"`
	P99US float64 `json:"p99_us,omitempty"`
}
