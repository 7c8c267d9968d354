package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// mostFiles is how many files may be on their way.
const mostFiles = 2

// order is struct iocb of the kernel's asynchronous I/O, and event what it says
// of one that is over. In that of a 32-bit system of the other byte order two
// fields change places that are zero here.
type order struct {
	_      uint64
	_      [2]uint32
	opcode uint16
	_      int16
	file   uint32
	_      [2]uint64
	_      int64
	_      uint64
	_      [2]uint32
}

type event struct {
	_      [2]uint64
	result int64
	_      int64
}

// opFsync is IOCB_CMD_FSYNC.
const opFsync = 2

// system is Linux's asynchronous I/O (io_submit). Its calls do not wait, so they
// are raw ones: the scheduler need not know.
type system struct {
	ring   uintptr
	flying int
	failed error // of those that are over
	// careful is until when the scheduler is told of writes.
	careful, began time.Time
	orders         [mostFiles]order
	queue          [mostFiles]*order
	events         [mostFiles]event
}

func (s *system) open() error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IO_SETUP, mostFiles, uintptr(unsafe.Pointer(&s.ring)), 0)
	if errno != 0 { // no such call, not allowed, or the system has no more of them
		return fmt.Errorf("%w: ask the system for asynchronous input and output: %w", errors.ErrUnsupported, errno)
	}
	return nil
}

func (s *system) sync(f, folder *os.File) (began bool, err error) {
	if s.flying > 0 && !s.collect() {
		return false, nil
	}
	err, s.failed = s.failed, nil
	most := 1
	s.ask(0, f)
	if folder != nil {
		s.ask(1, folder)
		most = 2
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_IO_SUBMIT, s.ring, uintptr(most), uintptr(unsafe.Pointer(&s.queue)))
	if errno != 0 {
		return false, errors.Join(err, fmt.Errorf("bring a file to the disk in the background: %w", errno))
	}
	s.flying, s.began = int(n), time.Now()
	if s.flying < most {
		return false, errors.Join(err, errors.New("bring a file to the disk in the background: the system took one of two"))
	}
	return true, err
}

func (s *system) ask(i int, f *os.File) {
	s.orders[i] = order{opcode: opFsync, file: uint32(f.Fd())}
	s.queue[i] = &s.orders[i]
}

// collect takes note of what is over, and reports whether all are.
func (s *system) collect() bool {
	var now syscall.Timespec
	n, _, errno := syscall.RawSyscall6(syscall.SYS_IO_GETEVENTS, s.ring, 0, mostFiles,
		uintptr(unsafe.Pointer(&s.events)), uintptr(unsafe.Pointer(&now)), 0)
	if errno != 0 {
		return false
	}
	s.flying -= int(n)
	for _, e := range s.events[:n] {
		if e.result < 0 {
			s.failed = errors.Join(s.failed, fmt.Errorf("bring a file to the disk: %w", syscall.Errno(-e.result)))
		}
	}
	return s.flying == 0
}

// A write behind a file that is on its way may have to wait for the disk, as a
// file system does that keeps a journal; the scheduler is told of it. A write to
// memory that took longWrite had to wait though nothing was on its way, and a disk
// that took longSync may have others wait. After either the scheduler is told of
// writes for as long as carefully says.
const (
	longWrite = 20 * time.Millisecond
	longSync  = 100 * time.Millisecond
	carefully = 10 * time.Second
)

func (s *system) write(f *os.File, p []byte) (int, error) {
	now := time.Now()
	busy := s.flying > 0 && !s.collect()
	if busy && now.Sub(s.began) > longSync {
		s.careful = now.Add(carefully)
	}
	if busy || len(p) == 0 || now.Before(s.careful) {
		return f.Write(p)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, f.Fd(), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if end := time.Now(); end.Sub(now) > longWrite {
		s.careful = end.Add(carefully)
	}
	if errno != 0 {
		n = 0
	}
	if int(n) == len(p) {
		return len(p), nil
	}
	m, err := f.Write(p[n:]) // what is wrong is said here
	return int(n) + m, err
}

// close may wait for a disk, so it is no raw call.
func (s *system) close() { _, _, _ = syscall.Syscall(syscall.SYS_IO_DESTROY, s.ring, 0, 0) }
