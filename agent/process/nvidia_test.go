package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMakeCUDAFiles(t *testing.T) {
	t.Parallel()
	const version, uvm = "proc/driver/nvidia/version", "dev/nvidia-uvm"
	gone := func(string) (string, error) { return "", os.ErrNotExist }
	at := func(string) (string, error) { return "/usr/bin/nvidia-modprobe", nil }
	for _, tt := range []struct {
		name  string
		files []string
		find  func(string) (string, error)
		makes bool
		err   error
		runs  int
		says  string
	}{
		{"no driver", nil, at, false, nil, 0, ""},
		{"it is there", []string{version, uvm}, at, false, nil, 0, ""},
		{"made", []string{version}, at, true, nil, 1, ""},
		{"no program", []string{version}, gone, false, nil, 0, "install that"},
		{"the program fails", []string{version}, at, false, errors.New("exit status 1"), 1, "cannot make it: exit status 1 no such module"},
		{"the program does nothing", []string{version}, at, false, nil, 1, "also after nvidia-modprobe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, runs := t.TempDir(), 0
			write := func(name string) {
				path := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range tt.files {
				write(f)
			}
			err := cuda{root, tt.find, func(_ context.Context, path string, args ...string) ([]byte, error) {
				runs++
				if path != "/usr/bin/nvidia-modprobe" || strings.Join(args, " ") != "-c0 -u" {
					t.Errorf("it runs %s %v", path, args)
				}
				if tt.makes {
					write(uvm)
				}
				return []byte("no such module\nmore"), tt.err
			}}.makeFiles(t.Context())
			if runs != tt.runs || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d runs, %v; want %d and %q", runs, err, tt.runs, tt.says)
			}
		})
	}
}
