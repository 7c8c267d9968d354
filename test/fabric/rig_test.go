package fabric

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/discovery/ports"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/topology"
)

const (
	// clients is how many programs may speak to the simulator at once; each has a
	// port of its own behind the simulator's.
	clients = 10
	// patience is how long a fabric may take to become what it should.
	patience = 30 * time.Second
	// hca is what the simulator calls the adapter of every machine.
	hca = "ibsim0"
)

// rig is one simulated network.
type rig struct {
	t       *testing.T
	dir     string
	env     []string
	console io.Writer
	sms     int
}

// tool finds a program, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed; run make fabric-tools as root", name)
	return ""
}

// newRig starts a network as ibnetdiscover would print it.
func newRig(t *testing.T, network string) *rig {
	t.Helper()
	sim := tool(t, "ibsim")
	for _, name := range []string{"opensm", "ibnetdiscover", "sminfo", "saquery", "smpquery"} {
		tool(t, name)
	}
	libs, _ := filepath.Glob("/usr/lib*/*/umad2sim/libumad2sim.so")
	if len(libs) == 0 {
		t.Skip("libumad2sim.so is not installed; run make fabric-tools as root")
	}
	r := &rig{t: t, dir: t.TempDir()}
	file := filepath.Join(r.dir, "network")
	if err := os.WriteFile(file, []byte(network), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if port := freePorts(t); r.simulate(sim, file, port) {
			r.env = []string{"LD_PRELOAD=" + libs[0], "IBSIM_SERVER_NAME=127.0.0.1", "IBSIM_SERVER_PORT=" + strconv.Itoa(port)}
			return r
		}
	}
	t.Fatal("ibsim does not start")
	return nil
}

// freePorts finds the first of a row of free ports. Another may take one before
// the simulator does, which then says so.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 50 {
		first, err := net.ListenPacket("udp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.LocalAddr().(*net.UDPAddr).Port
		taken := []net.PacketConn{first}
		for i := 1; i <= clients; i++ {
			c, err := net.ListenPacket("udp4", ":"+strconv.Itoa(port+i))
			if err != nil {
				break
			}
			taken = append(taken, c)
		}
		for _, c := range taken {
			_ = c.Close()
		}
		if len(taken) == clients+1 {
			return port
		}
	}
	t.Fatal("there is no row of free ports")
	return 0
}

// simulate starts the simulator and reports whether it did.
func (r *rig) simulate(sim, file string, port int) bool {
	r.t.Helper()
	cmd := exec.Command(sim, "-s", "-r", "-l", strconv.Itoa(port), file)
	cmd.Dir = r.dir
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ready := make(chan bool, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "MaxMcastCap") { // the last line before it serves
				ready <- true
			}
		}
		ready <- false
	}()
	end := func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	}
	if !<-ready {
		end()
		return false
	}
	r.console = in
	r.t.Cleanup(end)
	return true
}

// tell says something on the simulator's console.
func (r *rig) tell(format string, args ...any) {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.console, format+"\n", args...); err != nil {
		r.t.Fatal(err)
	}
}

// of is the environment of a program on one of the simulated machines.
func (r *rig) of(guid string) []string {
	return append(r.env[:len(r.env):len(r.env)], "SIM_HOST=H-"+guid)
}

// What a subnet manager becomes.
const (
	masters = "Entering MASTER state"
	standby = "Entering STANDBY state"
)

// managers starts two subnet managers, of which the first manages and the second
// stands by, and waits until a third machine hears of both. The simulator has no
// time-outs: a packet to a program that does not listen yet is waited for without
// end. Those that wait so are started again.
func (r *rig) managers(first, second, third string) (stopFirst, stopSecond func()) {
	r.t.Helper()
	reader := r.reader(third)
	for range 4 {
		stopFirst, stopSecond = r.manager(first, 12, masters), r.manager(second, 5, standby)
		for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
			if p := look(r.t, reader)[0]; p.SM != nil && p.SM.Priority == 12 && len(p.SMs) == 2 {
				return stopFirst, stopSecond
			}
		}
		r.t.Log("the managers do not hear of each other; once more")
		stopFirst()
		stopSecond()
	}
	r.t.Fatal("the managers do not hear of each other")
	return nil, nil
}

// manager starts one, waits until it is what it should become, and gives what
// ends it.
func (r *rig) manager(guid string, priority int, becomes string) (stop func()) {
	r.t.Helper()
	for range 4 {
		if stop, ok := r.tryManager(guid, priority, becomes); ok {
			r.t.Cleanup(stop)
			return stop
		}
	}
	r.t.Fatalf("opensm on %s does not come to %q", guid, becomes)
	return nil
}

func (r *rig) tryManager(guid string, priority int, becomes string) (stop func(), ok bool) {
	r.t.Helper()
	r.sms++
	dir := filepath.Join(r.dir, "sm"+strconv.Itoa(r.sms))
	if err := os.Mkdir(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	conf := filepath.Join(dir, "opensm.conf")
	// It waits two seconds for the one before it to answer, and not forty.
	text := "sminfo_polling_timeout 500\npolling_retry_number 4\nsweep_interval 1\nlog_file " + dir + "/log\ndump_files_dir " + dir + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(tool(r.t, "opensm"), "-F", conf, "-p", strconv.Itoa(priority))
	cmd.Dir = r.dir // where the simulator's library makes files
	cmd.Env = append(r.of(guid), "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	came, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		seen := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if !seen && strings.Contains(lines.Text(), becomes) {
				seen = true
				close(came)
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		// It says goodbye to the simulator, which else would hold its place.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-read
		_ = cmd.Wait()
	})
	late := time.NewTimer(8 * time.Second)
	defer late.Stop()
	select {
	case <-came:
		return stop, true
	case <-read:
	case <-late.C:
	}
	r.t.Logf("opensm on %s did not come to %q; once more", guid, becomes)
	stop()
	return nil, false
}

// reader reads a machine of the network. The simulator shows programs one port of
// a machine.
func (r *rig) reader(guid string) *ports.Reader {
	r.t.Helper()
	sys := r.t.TempDir()
	at := filepath.Join(sys, "class/infiniband", hca)
	files := map[string]string{filepath.Join(at, "node_guid"): guid[:4] + ":" + guid[4:8] + ":" + guid[8:12] + ":" + guid[12:]}
	for name, text := range map[string]string{
		"state": "4: ACTIVE", "phys_state": "5: LinkUp", "link_layer": "InfiniBand", "rate": "200 Gb/sec (4X HDR)", "lid": "0x5", "sm_lid": "0x1",
	} {
		files[filepath.Join(at, "ports/1", name)] = text
	}
	files[filepath.Join(sys, "class/infiniband_mad/abi_version")] = "5"
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	// Every look asks, so that a test waits for no minute.
	reader, err := ports.New(ports.Config{Sys: sys, Env: r.of(guid), Dir: r.dir, Every: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return reader
}

// look is what a machine says of its ports now.
func look(t *testing.T, r *ports.Reader) []inventory.Port {
	t.Helper()
	list, _, err := r.Ports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// scan is the map as it is seen from a machine now.
func scan(t *testing.T, r *ports.Reader) (topology.Map, error) {
	t.Helper()
	got, err := r.Scan(t.Context(), protocol.ScanArgs{HCA: hca, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := got.Map()
	if err != nil {
		return topology.Map{}, err
	}
	return topology.Parse(text)
}

// until asks again and again, which takes its time, until the answer is yes.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !yes() {
		if ctx.Err() != nil {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}
