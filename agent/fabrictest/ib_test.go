package fabrictest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestMain makes this program stand in for ib_write_bw, which needs adapters that
// machines of tests do not have: it takes the real one's flags, meets its other end
// over TCP as that does, and prints the table of the real one's documentation.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--report_gbits") {
		os.Exit(playIBWrite(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func playIBWrite(args []string) int {
	flag := func(name string) string { return args[slices.Index(args, name)+1] }
	switch device := flag("-d"); device {
	case "gone0":
		fmt.Printf("---\n IB device %s not found\n Unable to find the Infiniband/RoCE device\n", device)
		return 1
	case "stuck0":
		time.Sleep(time.Hour)
	}
	if last := args[len(args)-1]; last != "-F" {
		c, err := net.Dial("tcp", net.JoinHostPort(last, flag("-p")))
		if err != nil {
			fmt.Printf("Couldn't connect to %s:%s\n Unable to open file descriptor for socket connection", last, flag("-p"))
			return 1
		}
		_ = c.Close()
		fmt.Print(sampleOutput)
		return 0
	}
	time.Sleep(3 * firstWord) // it is slow to begin, and the other end tries again
	l, err := net.Listen("tcp", net.JoinHostPort(ibAddress, flag("-p")))
	if err != nil {
		return 1
	}
	c, err := l.Accept()
	if err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, c)
	return 0
}

// ibAddress is where the stand-in listens: the ports at 127.0.0.1 are those of tests
// that run beside this one.
const ibAddress = "127.0.0.2"

const sampleOutput = `
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x2a QPN 0x0051 PSN 0x9a4d12
 remote address: LID 0x0b QPN 0x0052 PSN 0x2b7c11
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      3756210          0.00               393.87   		   0.751247
---------------------------------------------------------------------------------------
`

func TestParseIBWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said string
		want float64
		err  string
	}{
		"a test of a time":    {said: sampleOutput, want: 393.87},
		"the last row counts": {said: "#bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]\n2 5000 0.1 0.05\n4 5000 9 8.5\n", want: 8.5},
		"more columns": {
			said: " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   CPU_Util[%]\n 65536 1 0.00 97.5 0.1 12.5\n", want: 97.5,
		},
		"without the peak":   {said: "#bytes   #iterations   BW average[Gb/sec]\n65536 1 12\n", want: 12},
		"in another unit":    {said: "#bytes   #iterations  BW peak[MB/sec]    BW average[MB/sec]\n65536 1 0 1000\n", want: 8.388608},
		"an unknown unit":    {said: "#bytes   #iterations   BW average[furlongs]\n65536 1 12\n", err: `"furlongs]"`},
		"no average":         {said: "#bytes   #iterations   BW peak[Gb/sec]\n65536 1 12\n", err: "no average"},
		"no table":           {said: "65536 1 0 12\n", err: "no bandwidth"},
		"a head alone":       {said: strings.Split(sampleOutput, " 65536")[0], err: "no bandwidth"},
		"nothing":            {err: "no bandwidth"},
		"nothing went":       {said: "#bytes   BW average[Gb/sec]\n65536 0.00\n", err: `"0.00"`},
		"no number":          {said: "#bytes   BW average[Gb/sec]\n65536 -nan\n", err: `"-nan"`},
		"endless":            {said: "#bytes   BW average[Gb/sec]\n65536 inf\n", err: `"inf"`},
		"more than there is": {said: "#bytes   BW average[Gb/sec]\n65536 1e9\n", err: `"1e9"`},
	} {
		got, err := parseIBWrite(c.said)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && (got < c.want*.9999 || got > c.want*1.0001) {
			t.Errorf("%s: want %v, %q, got %v, %v", name, c.want, c.err, got, err)
		}
	}
	for said, want := range map[string]string{
		" Did not detect devices \n If device exists, check if driver is up\n Unable to find the Infiniband/RoCE device\n": "Did not detect devices",
		"-----\n IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n":                                 "IB device mlx5_9 not found",
		"------\n* Waiting for client to connect... *\n------\n":                                                           "* Waiting for client to connect... *",
		"Couldn't connect to 10.0.0.2:18900\n Unable to open file descriptor for socket connection":                        "Couldn't connect to 10.0.0.2:18900",
		" error \x1b[31mred\n": "error  [31mred",
		"":                     "",
	} {
		if got := complaint(said); got != want {
			t.Errorf("of %q: want %q, got %q", said, want, got)
		}
	}
}

func FuzzParseIBWrite(f *testing.F) {
	f.Add(sampleOutput)
	f.Add("#bytes   BW average[MB/sec]\n1 1\n")
	f.Add(" Did not detect devices \n")
	f.Fuzz(func(t *testing.T, said string) {
		gbps, err := parseIBWrite(said)
		if err == nil && !(gbps > 0 && gbps <= mostGbps) || err != nil && (gbps != 0 || len(err.Error()) > 4*mostReason) {
			t.Errorf("%q: %v, %v", said, gbps, err)
		}
		if c := complaint(said); len(c) > mostReason || strings.ContainsAny(c, "\x1b\n\r") {
			t.Errorf("%q: the complaint %q", said, c)
		}
	})
}

func TestIBWriteArgs(t *testing.T) {
	t.Parallel()
	a := protocol.FabricTestArgs{Device: "mlx5_0", DevicePort: 1, Seconds: 5}
	for to, want := range map[string]string{
		"":         "-d mlx5_0 -i 1 -p 18907 -D 5 --report_gbits -F",
		"10.0.0.2": "-d mlx5_0 -i 1 -p 18907 -D 5 --report_gbits -F 10.0.0.2",
	} {
		if got := strings.Join(ibWriteArgs(a, 18907, to), " "); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	for device, ok := range map[string]bool{"mlx5_0": true, "ibp3s0": true, "rxe0.1": true, "": false, "-d": false, "a b": false, "../x": false, strings.Repeat("x", 64): false} {
		if err := checkAdapter(protocol.FabricTestArgs{Device: device, DevicePort: 1}); (err == nil) != ok {
			t.Errorf("%q: %v", device, err)
		}
	}
	for _, port := range []int{0, -1, 256} {
		if checkAdapter(protocol.FabricTestArgs{Device: "mlx5_0", DevicePort: port}) == nil {
			t.Errorf("port %d is one", port)
		}
	}
}

// adapters gives two nodes a port on one InfiniBand fabric, and the program.
func adapters(t *testing.T, device string) (*agents, Question) {
	t.Helper()
	a, q := pair(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*inventory.Node{q.From, q.To} {
		n.Facts.Features = []string{string(protocol.AskFabricTest), protocol.FeatureIBWrite}
		n.Facts.Ports = []inventory.Port{{HCA: device, Port: 1, Active: true, LinkLayer: layerInfiniBand, Physical: "sm:1", Fabric: "ib0", RateGbps: 400}}
	}
	for id := range a.ends {
		a.ends[id] = &Tester{Program: self}
	}
	return a, q
}

func TestAdaptersMeasureWithoutProcessors(t *testing.T) {
	t.Parallel()
	for _, fabric := range []string{"", "ib0", "sm:1"} {
		a, q := adapters(t, "mlx5_0")
		q.Fabric, q.To.Facts.MgmtAddr = fabric, ibAddress
		o, err := Between(t.Context(), a, q)
		if err != nil {
			t.Fatal(err)
		}
		if o.Method != MethodIBWrite || o.Gbps != 393.87 || !o.OK || o.ExpectedGbps != 400 || o.P50US <= 0 || o.P99US < o.P50US ||
			o.Fabric == "" || !strings.Contains(o.Text, "mlx5_0 of a to mlx5_0 of b") {
			t.Errorf("%q: %+v", fabric, o)
		}
	}
}

// Where adapters cannot be tested TCP is, and what was in the way is said where a
// fabric was asked for.
func TestTCPWhereAdaptersCannot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device string
		change func(q *Question)
		why    string
		// no: TCP has no way either.
		no bool
	}{
		"the adapter is not there":  {device: "gone0", why: "IB device gone0 not found"},
		"the program is not there":  {change: func(q *Question) { q.To.Facts.Features = nil }, why: "install the package perftest"},
		"it was not asked for":      {change: func(q *Question) { q.To.Facts.Features, q.Fabric = nil, "" }},
		"the address is of another": {change: func(q *Question) { q.To.Facts.MgmtAddr = "fd00::1" }, why: "no IPv4 management address"},
		"no TCP there":              {device: "gone0", change: func(q *Question) { q.From.Facts.Ports[0].Interface = "" }, why: "gone0 not found", no: true},
		"not the same fabric":       {change: func(q *Question) { q.To.Facts.Ports[0].Physical = "sm:2" }},
		"RoCE":                      {change: func(q *Question) { q.To.Facts.Ports[0].LinkLayer = "Ethernet" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, q := adapters(t, "mlx5_0")
			q.Fabric = "ib0"
			for _, n := range []*inventory.Node{q.From, q.To} {
				n.Facts.Ports[0].Interface = loopback(t)
				if c.device != "" {
					n.Facts.Ports[0].HCA = c.device
				}
			}
			if c.change != nil {
				c.change(&q)
			}
			o, err := Between(t.Context(), a, q)
			if c.no {
				if !errors.Is(err, ErrNoRoute) || !strings.Contains(err.Error(), c.why) {
					t.Errorf("got %+v, %v", o, err)
				}
				return
			}
			if err != nil || o.Method != MethodTCP || o.Gbps <= 0 || !strings.Contains(o.Text, c.why) || c.why == "" && strings.Contains(o.Text, "ib_write_bw") {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

// loopback is the network device of 127.0.0.1.
func loopback(t *testing.T) string {
	t.Helper()
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name
		}
	}
	t.Skip("this machine has no loopback device")
	return ""
}

// A program that hangs is killed: at the end of the ask, at the next step of the same
// test, and when its end is closed.
func TestAProgramThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	a, _ := adapters(t, "stuck0")
	end := a.ends["a"]
	args := protocol.FabricTestArgs{Secret: secret, Address: "127.0.0.1", Port: protocol.FabricTestPortMin, Streams: 1, Seconds: 1, Device: "stuck0", DevicePort: 1}
	l, err := end.Listen(args)
	if err != nil {
		t.Fatal(err)
	}
	other := args
	other.Secret = "a secret of another test"
	if _, err := end.Listen(other); !errors.Is(err, ErrBusy) {
		t.Errorf("another test: want %v, got %v", ErrBusy, err)
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve(t.Context()) }()
	args.Device = ""
	next, err := end.Listen(args)
	if err != nil {
		t.Fatalf("the next step of the test: %v", err)
	}
	if err := <-served; err == nil {
		t.Error("what was killed is no success")
	}
	next.Close()
	args.Device = "stuck0"
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(firstWord, cancel)
	if _, err := end.Dial(ctx, args); !errors.Is(err, context.Canceled) {
		t.Errorf("want %v, got %v", context.Canceled, err)
	}
	if again, err := end.Listen(other); err != nil {
		t.Errorf("afterwards: %v", err)
	} else {
		again.Close()
	}
}

// The real program, where it is installed, says in words what is in the way on a
// machine without adapters.
func TestTheRealProgramSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath(MethodIBWrite)
	if err != nil {
		t.Skip("there is no ib_write_bw here; it is in the package perftest")
	}
	end := &Tester{Program: path}
	args := protocol.FabricTestArgs{Secret: secret, Address: "127.0.0.1", Port: protocol.FabricTestPortMax, Streams: 1, Seconds: 1, Device: "nosuch0", DevicePort: 1}
	if l, err := end.Listen(args); err == nil {
		l.Close()
		t.Error("it listens on an adapter that nobody has")
	} else if t.Log(err); len(err.Error()) < 20 {
		t.Errorf("it says %q", err)
	}
	if _, err := end.Dial(t.Context(), args); err == nil || len(err.Error()) < 20 {
		t.Errorf("it measured: %v", err)
	} else {
		t.Log(err)
	}
}
