package tinygguf

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// llamaServer is the real program, for the tests that show that what is written
// here is more than bytes with the right magic.
func llamaServer(t *testing.T) string {
	t.Helper()
	path := os.Getenv("LLMGW_LLAMA_SERVER")
	if path == "" {
		t.Skip("LLMGW_LLAMA_SERVER names no llama-server: make test sets it after make llama")
	}
	return path
}

func llamaCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), llamaServer(t), append([]string{"-t", "1", "-cram", "0", "--port", "0"}, args...)...)
	// Waiting threads must not spin: test machines have few cores.
	cmd.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive")
	return cmd
}

// listening starts a server and returns its address once it says that it
// listens.
func listening(t *testing.T, args ...string) string {
	t.Helper()
	cmd := llamaCommand(t, args...)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`listening on (http://\S+)`)
	scan := bufio.NewScanner(logs)
	var said strings.Builder
	for scan.Scan() {
		said.WriteString(scan.Text() + "\n")
		if m := address.FindStringSubmatch(scan.Text()); m != nil {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				for scan.Scan() {
				}
			}()
			t.Cleanup(func() {
				// Killed by its context, which ended before cleanups run.
				<-drained
				_ = cmd.Wait()
			})
			return m[1]
		}
	}
	t.Fatalf("the server ended before it listened: %v\n%s", cmd.Wait(), said.String())
	return ""
}

func chat(t *testing.T, address string) string {
	t.Helper()
	body := `{"messages":[{"role":"user","content":"hello"}],"max_tokens":16,"temperature":0}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Choices) != 1 {
		t.Fatalf("want one choice, got %+v", answer)
	}
	return answer.Choices[0].Message.Content
}

func TestARealServerSaysThePreferredWord(t *testing.T) {
	t.Parallel()
	model := filepath.Join(t.TempDir(), "m.gguf")
	if err := Write(model, Options{Say: []string{"alpha"}}); err != nil {
		t.Fatal(err)
	}
	if got := chat(t, listening(t, "-m", model)); !strings.Contains(got, "alpha alpha") {
		t.Errorf("want it to say alpha, got %q", got)
	}
}

func TestARealServerSaysTheAdaptersWord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model, lora := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "l.gguf")
	if err := Write(model, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteAdapter(lora, Options{}, Adapter{Say: []string{"cherry"}}); err != nil {
		t.Fatal(err)
	}
	if got := chat(t, listening(t, "-m", model, "--lora", lora)); !strings.Contains(got, "cherry cherry") {
		t.Errorf("want it to say cherry, got %q", got)
	}
}

func TestARealServerRefusesACutFile(t *testing.T) {
	t.Parallel()
	model := filepath.Join(t.TempDir(), "m.gguf")
	if err := Write(model, Options{Cut: 1000}); err != nil {
		t.Fatal(err)
	}
	out, err := llamaCommand(t, "-m", model).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("model is corrupted or incomplete")) {
		t.Errorf("want it to refuse the file, got %v\n%s", err, out)
	}
}
