package auth

import (
	"errors"
	"strings"
	"testing"
)

func TestInsecureOnLoopbackAlone(t *testing.T) {
	t.Parallel()
	for listen, ok := range map[string]bool{
		"127.0.0.1:7070": true, "localhost:7070": true, "[::1]:7070": true, "127.9.9.9:0": true,
		":7070": false, "0.0.0.0:7070": false, "192.0.2.1:7070": false, "[::]:7070": false, "example.org:7070": false, "7070": false,
	} {
		if _, err := NewInsecure(listen); (err == nil) != ok {
			t.Errorf("listen on %q: want allowed %v, got %v", listen, ok, err)
		}
	}
}

func TestInsecureRefusesOtherMachines(t *testing.T) {
	t.Parallel()
	a, err := NewInsecure("127.0.0.1:7070")
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Authenticate(request("127.0.0.1:5000", ""))
	if err != nil || !id.Has(Secrets) {
		t.Errorf("want an owner, got %v, %v", id, err)
	}
	for _, addr := range []string{"192.0.2.1:5000", "", "@"} {
		if _, err := a.Authenticate(request(addr, "")); !errors.Is(err, ErrMissing) {
			t.Errorf("from %q: want %v, got %v", addr, ErrMissing, err)
		}
	}
}

func TestConfigComplainsOfEverything(t *testing.T) {
	t.Parallel()
	_, err := New(Config{FailuresPerMinute: -1})
	for _, want := range []string{"Tokens", "Pepper", "FailuresPerMinute"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a complaint about %s, got %v", want, err)
		}
	}
}
