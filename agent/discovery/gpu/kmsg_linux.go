package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// readKernel tells of the driver's messages in the kernel's log until the context
// ends. What is in the log at the beginning is old.
func readKernel(ctx context.Context, path string, tell func(Event)) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the kernel's log: %w", &os.PathError{Op: "open", Path: path, Err: err})
	}
	if err := backlog(fd, tell); err != nil {
		_ = syscall.Close(fd)
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	s := bufio.NewScanner(&records{f})
	s.Buffer(nil, mostRead)
	for s.Scan() {
		if e, ok := kernelLine(s.Text(), time.Now(), false); ok {
			tell(e)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errors.New("gpu: the kernel's log ended"), s.Err())
}

// backlog reads what is there without waiting for more.
func backlog(fd int, tell func(Event)) error {
	buf := make([]byte, mostRead)
	rest := ""
	for {
		n, err := syscall.Read(fd, buf)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EPIPE): // the oldest were written over
			continue
		case errors.Is(err, syscall.EAGAIN), err == nil && n == 0:
			return nil
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		lines := strings.Split(rest+string(buf[:n]), "\n")
		rest = lines[len(lines)-1]
		for _, line := range lines[:len(lines)-1] {
			if e, ok := kernelLine(line, time.Now(), true); ok {
				tell(e)
			}
		}
	}
}

// records reads on where the log wrote over what was not read yet.
type records struct{ f *os.File }

// Read is as of an [io.Reader].
func (r *records) Read(p []byte) (int, error) {
	for {
		n, err := r.f.Read(p)
		if errors.Is(err, syscall.EPIPE) {
			continue
		}
		return n, err
	}
}

var _ io.Reader = (*records)(nil)
