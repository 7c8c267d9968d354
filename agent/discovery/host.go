package discovery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
)

// mostFile is how much of one of the kernel's files is read; none is longer.
const mostFile = 1 << 20

// read gives a small file without the white space around it.
func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil {
		return "", plain(err)
	}
	return strings.TrimSpace(string(b)), nil
}

// readWord is read for a file that must hold something.
func readWord(path string) (string, error) {
	s, err := read(path)
	if err == nil && s == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	return s, err
}

// readInt reads a file that holds one number.
func readInt(path string) (int64, error) {
	s, err := readWord(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds no number", path)
	}
	return n, nil
}

// keyed reads the value of a key from lines of "key<separator> value".
func keyed(text, key, separator string) (string, bool) {
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, mostFile)
	for s.Scan() {
		k, v, ok := strings.Cut(s.Text(), separator)
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

func (p *Prober) hostname(_ context.Context, f *inventory.Facts) (err error) {
	if f.Hostname = p.cfg.Hostname; f.Hostname == "" {
		if f.Hostname, err = readWord(p.proc("sys/kernel/hostname")); err != nil && runtime.GOOS != "linux" {
			f.Hostname, err = os.Hostname()
		}
	}
	return err
}

// mgmtAddr takes the address from which the control plane is reached: routers
// are where it is. An address of the machine chosen otherwise may be on a
// network that they do not see. Nothing is sent.
func (p *Prober) mgmtAddr(ctx context.Context, f *inventory.Facts) error {
	if f.MgmtAddr = p.cfg.MgmtAddr; f.MgmtAddr != "" || p.cfg.Toward == "" {
		return nil
	}
	toward := p.cfg.Toward
	if _, _, err := net.SplitHostPort(toward); err != nil {
		// Any port will do: nothing is sent.
		toward = net.JoinHostPort(strings.Trim(toward, "[]"), "443")
	}
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "udp", toward)
	if err != nil {
		return fmt.Errorf("there is no way to the control plane: %w", err)
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	if err != nil {
		return err
	}
	f.MgmtAddr = host
	return nil
}

func (p *Prober) system(_ context.Context, f *inventory.Facts) error {
	text, err := read(filepath.Join(p.cfg.Etc, "os-release"))
	if err != nil {
		return err
	}
	for _, key := range []string{"PRETTY_NAME", "NAME", "ID"} {
		v, _ := keyed(text, key, "=")
		if f.OS = strings.Trim(v, `"'`); f.OS != "" {
			return nil
		}
	}
	return errors.New("os-release names none")
}

func (p *Prober) kernel(_ context.Context, f *inventory.Facts) (err error) {
	f.Kernel, err = readWord(p.proc("sys/kernel/osrelease"))
	return err
}

func (p *Prober) boot(_ context.Context, f *inventory.Facts) (err error) {
	f.BootID, err = readWord(p.proc("sys/kernel/random/boot_id"))
	return err
}
