package provision_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"testing"

	"llmgw.io/llmgw/agent/provision"
)

// TestWheels installs a made-up vLLM of one wheel, with a real pip and no network.
func TestWheels(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on the PATH")
	}
	if exec.Command(python, "-c", "import venv, ensurepip").Run() != nil {
		t.Skip("this python3 makes no environments: python3-venv is not installed")
	}
	m, dir := newMirror(t), t.TempDir()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range [][2]string{
		{"toy.py", "def main():\n    print('vllm 9.9.9')\n"},
		{"vllm-9.9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: vllm\nVersion: 9.9.9\n"},
		{"vllm-9.9.9.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"vllm-9.9.9.dist-info/entry_points.txt", "[console_scripts]\nvllm = toy:main\n"},
		{"vllm-9.9.9.dist-info/RECORD", "toy.py,,\nvllm-9.9.9.dist-info/METADATA,,\nvllm-9.9.9.dist-info/WHEEL,,\nvllm-9.9.9.dist-info/entry_points.txt,,\nvllm-9.9.9.dist-info/RECORD,,\n"},
	} {
		part, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(f[1]))
	}
	_ = w.Close()
	const name = "vllm-9.9.9-py3-none-any.whl"
	m.write(t, name, buf.Bytes())
	sum := sha256.Sum256(buf.Bytes())
	m.m.Releases = []provision.Release{{
		Engine: "vllm", Version: "9.9.9", Build: "cpu", OS: "linux", Arch: "amd64", Kind: provision.KindWheels, Program: "vllm",
		Files: []provision.File{{Path: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(buf.Len())}},
	}}
	n := startNode(t, m, dir, m.publish(t))
	n.Want(map[string]string{"vllm": "cpu"})
	n.until(t, "it is installed or refused", func() bool { return n.failed() != "" || len(n.Programs("vllm")) > 0 })
	if len(n.Programs("vllm")) != 1 {
		t.Fatal(n.failed())
	}
	p := n.Programs("vllm")[0]
	out, err := exec.Command(p.Path, "--version").CombinedOutput()
	if err != nil || string(out) != "vllm 9.9.9\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}
