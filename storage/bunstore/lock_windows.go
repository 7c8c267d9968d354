package bunstore

import (
	"errors"
	"os"
	"syscall"
)

// errorSharingViolation is what Windows answers for a file that another one has
// opened and shares for reading only.
const errorSharingViolation = syscall.Errno(32)

// openLocked opens a file for itself alone; others may still read who has it.
func openLocked(path string) (f *os.File, free bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ,
		nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return os.NewFile(uintptr(h), path), true, nil
}

// unlock has nothing to do: the file is free once it is closed.
func unlock(*os.File) error { return nil }
