package protocol_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
)

// A map of any size that a fabric has arrives as it was, in one frame.
func TestScanResultCarriesItsMap(t *testing.T) {
	t.Parallel()
	line := "[1]\t\"H-b83fd203001a0010\"[1](b83fd203001a0010) \t\t# \"gpu-07 mlx5_0\" lid 11 4xNDR\n"
	for _, n := range []int{0, 1, 3000, 50_000, 150_000} {
		text := strings.Repeat(line, n)
		sent := protocol.ScanResult{By: "mlx5_0/1", TookMS: 7}
		if err := sent.Put([]byte(text)); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) >= protocol.MaxFrame {
			t.Errorf("%d lines make a frame of %d bytes", n, len(data))
		}
		var got protocol.ScanResult
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if back, err := got.Map(); err != nil || back != text {
			t.Errorf("%d lines: %d bytes came back of %d, %v", n, len(back), len(text), err)
		}
	}
}

func TestScanResultIsBounded(t *testing.T) {
	t.Parallel()
	var r protocol.ScanResult
	if err := r.Put(make([]byte, protocol.MaxScan+1)); !errors.Is(err, protocol.ErrScanTooLarge) {
		t.Errorf("a map that is too long was taken: %v", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, protocol.MaxScan+1))
	_ = z.Close()
	for name, c := range map[string]struct {
		packed []byte
		want   string
	}{
		"a bomb":     {b.Bytes(), "too large"},
		"no gzip":    {[]byte("no"), "cannot be read"},
		"cut":        {b.Bytes()[:b.Len()/2], "cannot be read"},
		"nothing in": {[]byte{}, "cannot be read"},
	} {
		bad := protocol.ScanResult{Packed: c.packed}
		if _, err := bad.Map(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", name, c.want, err)
		}
	}
}
