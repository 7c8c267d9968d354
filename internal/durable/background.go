package durable

import "os"

// Background brings files to the disk while nobody waits: the system does it on
// threads of its own. To wait for a disk takes a thread, and Go's scheduler finds
// another one for whatever else there is to do, which costs several times what
// the call does where calls are short and many.
//
// It is for one goroutine at a time. Whoever has it closes it.
type Background struct{ system }

// OpenBackground makes one. The error matches errors.ErrUnsupported where the
// system has no such thing; then there is [os.File.Sync].
func OpenBackground() (*Background, error) {
	b := &Background{}
	if err := b.open(); err != nil {
		return nil, err
	}
	return b, nil
}

// Sync begins to bring to the disk what was written to a file, and what is in a
// folder, unless it is nil. Both may be closed meanwhile. It begins nothing while
// those of the last call are on their way.
//
// An error with began is that of the last call. One without it says that these
// cannot be brought there in this way; then the next ones may not either.
func (b *Background) Sync(f, folder *os.File) (began bool, err error) { return b.sync(f, folder) }

// Write writes to one of the files as its own method does. That is a write to
// memory, so Go's scheduler is not told of it, as long as no write takes long and
// the disk keeps up.
func (b *Background) Write(f *os.File, p []byte) (int, error) { return b.write(f, p) }

// Close waits until nothing is on its way.
func (b *Background) Close() { b.close() }
