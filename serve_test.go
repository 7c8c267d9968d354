package llmgw

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate with a serial number, and its key.
func certificate(t *testing.T, f *certificateFiles, serial int64, at time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{f.cert: {Type: "CERTIFICATE", Bytes: cert}, f.key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificateFiles shows that a renewed certificate is in force without a
// restart, whatever its files' times are, and that a broken one is not.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dir := t.TempDir()
	f := &certificateFiles{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), logger: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := f.config(); err == nil || !strings.Contains(err.Error(), f.cert) {
		t.Errorf("files that are not there must fail the start and be named, got %v", err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	certificate(t, f, 1, noon)
	conf, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		f.mu.Lock()
		f.looked = time.Time{} // a second has passed
		f.mu.Unlock()
		c, err := conf.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("want certificate 1, got %d", got)
	}
	certificate(t, f, 2, noon)
	if err := os.Chtimes(f.cert, noon, noon.Add(-time.Hour)); err != nil { // it was issued before it was put here
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("want certificate 2, got %d", got)
	}
	if err := os.WriteFile(f.key, []byte("half of a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if first, again := serial(), serial(); first != 2 || again != 2 {
		t.Errorf("want the old certificate while a new one is broken, got %d and %d", first, again)
	}
	if n := strings.Count(log.String(), "the old one stays in force"); n != 1 {
		t.Errorf("want the trouble told once, got %d times:\n%s", n, log.String())
	}
	certificate(t, f, 3, noon)
	if got := serial(); got != 3 {
		t.Errorf("want certificate 3, got %d", got)
	}
}
