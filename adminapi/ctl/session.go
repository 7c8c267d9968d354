package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
)

// tokenFile is what the control plane calls its own token in its data folder,
// and devFolder where that is when the whole system is on one machine.
const (
	tokenFile = "admin.token"
	devFolder = "control"
)

// session is one run of a command: its flags, its connection, its output.
type session struct {
	*cli.Command
	client *adminclient.Client
	server string
	// looked is where a token was looked for in vain. Empty: there is one.
	looked   string
	format   string
	in       io.Reader
	out, err io.Writer
	every    time.Duration
}

// open reads the flags that every command has.
func (o outside) open(c *cli.Command) (*session, error) {
	root := c.Root()
	s := &session{Command: c, server: c.String("server"), format: c.String("output"), in: root.Reader, out: root.Writer, err: root.ErrWriter, every: o.every}
	if s.every == 0 {
		s.every = time.Second
	}
	if !slices.Contains([]string{"table", "json", "yaml"}, s.format) {
		return nil, usagef("--output must be table, json or yaml, not %q", s.format)
	}
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	s.client, err = adminclient.New(adminclient.Config{BaseURL: s.server, Token: token, Actor: c.String("actor"), HTTP: o.http})
	if err != nil {
		return nil, usagef("%s", strings.TrimPrefix(err.Error(), "adminclient: "))
	}
	return s, nil
}

// token finds the admin token: given, in a file, or the control plane's own. The
// last is never sent to another machine.
func (s *session) token() (string, error) {
	if t := s.String("token"); t != "" {
		return t, nil
	}
	if path := s.String("token-file"); path != "" {
		t, err := readToken(path)
		if err != nil {
			return "", fmt.Errorf("the token file cannot be used: %w", err)
		}
		return t, nil
	}
	if !onLoopback(s.server) {
		s.looked = "LLMGW_TOKEN and --token-file"
		return "", nil
	}
	dir := s.String("data-dir")
	if dir == "" {
		dir = defaultDataDir()
	}
	path := filepath.Join(dir, tokenFile)
	for _, p := range []string{path, filepath.Join(dir, devFolder, tokenFile)} {
		if t, err := readToken(p); err == nil {
			return t, nil
		}
	}
	s.looked = "LLMGW_TOKEN, --token-file and " + path
	return "", nil
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", err
	}
	t := strings.TrimSpace(string(b))
	if t == "" || strings.ContainsAny(t, " \n\t") {
		return "", fmt.Errorf("%s does not hold one admin token", path)
	}
	return t, nil
}

// defaultDataDir is where a control plane keeps its things: for the system's
// user under /var/lib, for others in their state folder.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/llmgw"
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "llmgw")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/var/lib/llmgw"
	}
	return filepath.Join(home, ".local", "state", "llmgw")
}

func onLoopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && a.Unmap().IsLoopback())
}

// explain adds the next step to errors that come without one.
func (s *session) explain(ctx context.Context, err error) error {
	var refused *adminclient.Error
	switch {
	case errors.As(err, &refused) && refused.Status == 401 && s.looked != "":
		return fmt.Errorf("no admin token was found (looked at %s); give one, or run this as the user that the control plane runs as", s.looked)
	case errors.As(err, &refused):
		return refused
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s; start the control plane with llmgw-control serve, or name another address with --server", s.server)
	}
	var unreachable *url.Error
	if errors.As(err, &unreachable) {
		return fmt.Errorf("%s cannot be reached: %w; is --server right?", s.server, unreachable.Err)
	}
	return err
}

// arg is one argument by its place.
func (s *session) arg(i int) string { return s.Args().Get(i) }

// note tells people something that is no answer.
func (s *session) note(format string, args ...any) { fmt.Fprintf(s.err, format+"\n", args...) }
