//go:build unix

package bunstore

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

// postgres is a server of the test's own, which it stops at its end.
type postgres struct {
	bin, dir string
	as       *syscall.Credential // nil: who runs the test
	schemas  atomic.Int64
}

// startPostgres makes a server that listens in its own folder only.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	p := &postgres{bin: postgresFolder(t)}
	dir, err := os.MkdirTemp("", "llmgw-pg") //nolint:usetesting // a socket's path has little room, and the test's folder is its user's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p.dir = dir
	if os.Geteuid() == 0 {
		p.as = unprivileged(t)
		if err := os.Chown(dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	p.run(t, "initdb", "-D", data, "-A", "trust", "-U", "llmgw", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	// It is gone with the test, so nothing has to reach a disk.
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s' -c fsync=off -c max_connections=400 -c shared_buffers=32MB", dir)
	p.run(t, "pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options, "-w", "start")
	t.Cleanup(func() { p.run(t, "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop") })
	return p
}

func postgresFolder(t *testing.T) string {
	t.Helper()
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, dir := range slices.Backward(folders) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Skip("there is no PostgreSQL on this machine: no initdb on the PATH nor under /usr/lib/postgresql")
	return ""
}

// unprivileged is somebody else than root, as whom the server will not run.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
	return nil
}

func (p *postgres) run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	// A file and no pipe: the server keeps what it is given for its whole life.
	out, err := os.Create(filepath.Join(p.dir, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, readFile(t, out.Name()))
	}
}

func (p *postgres) dsn(schema string) string {
	q := url.Values{"host": {p.dir}, "user": {"llmgw"}, "search_path": {schema}}
	return "postgres:///postgres?" + q.Encode()
}

// fresh makes an empty schema and returns its address.
func (p *postgres) fresh(t *testing.T) string {
	t.Helper()
	schema := fmt.Sprintf("s%d", p.schemas.Add(1))
	db, err := sql.Open("pgx", p.dsn("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return p.dsn(schema)
}

func openPostgres(t *testing.T, dsn string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: dsn, Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	t.Run("conformance", func(t *testing.T) {
		t.Parallel()
		storagetest.Run(t, func(t *testing.T) storage.Store { return openPostgres(t, p.fresh(t)) })
	})
	t.Run("migrations", func(t *testing.T) {
		t.Parallel()
		testPostgresMigrations(t, p)
	})
	t.Run("two processes", func(t *testing.T) {
		t.Parallel()
		testTwoProcesses(t, p)
	})
	t.Run("server away", func(t *testing.T) {
		t.Parallel()
		_, err := Open(t.Context(), Config{DSN: "postgres://llmgw:word-secret@/postgres?host=" + url.QueryEscape(t.TempDir())})
		if !errors.Is(err, storage.ErrUnavailable) || strings.Contains(err.Error(), "word-secret") {
			t.Errorf("want the store not available and no password told, got %v", err)
		}
	})
}

func testPostgresMigrations(t *testing.T, p *postgres) {
	s := openPostgres(t, p.fresh(t))
	columns := func() (n int) {
		const query = `SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> 'schema_migrations'`
		if err := s.rw.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	whole := columns()
	for to := 9; to >= 0; to-- {
		if err := s.MigrateDown(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := columns(); n != whole || n == 0 {
			t.Fatalf("up again from %d: want %d columns, got %d", to, whole, n)
		}
		if err := s.MigrateDown(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	if n := columns(); n != 0 {
		t.Errorf("want no table left, got %d columns", n)
	}
}

// testTwoProcesses has stores of one database migrate, join and lead at once.
func testTwoProcesses(t *testing.T, p *postgres) {
	dsn := p.fresh(t)
	var stores [4]*Store
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			s, err := Open(t.Context(), Config{DSN: dsn, Connections: 4})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	by := inventory.Author{Principal: "token:ann"}
	if err := stores[0].CreateJoinToken(t.Context(), inventory.JoinToken{ID: "t", Hash: "h"}, by); err != nil {
		t.Fatal(err)
	}
	var joined, led atomic.Int64
	for i := range 32 {
		s := stores[i%len(stores)]
		wg.Go(func() {
			err := s.UseJoinToken(t.Context(), storage.TokenUse{ID: "t", Hash: "h", Node: inventory.NodeID(fmt.Sprint("n", i))})
			if err == nil {
				joined.Add(1)
			} else if !errors.Is(err, storage.ErrUsed) {
				t.Error(err)
			}
			if _, err := s.Acquire(t.Context(), fmt.Sprint("control-", i)); err == nil {
				led.Add(1)
			} else if !errors.Is(err, storage.ErrHeld) {
				t.Error(err)
			}
			if err := s.RecordAudit(t.Context(), by, "o", "", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if joined.Load() != 1 || led.Load() != 1 {
		t.Errorf("want one node let in and one leader, got %d and %d", joined.Load(), led.Load())
	}
	for _, s := range stores {
		if err := errors.Join(s.VerifyAudit(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
	}
}
