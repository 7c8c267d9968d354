package provision_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/provision"
)

func pinOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestManifest holds what is wrong with a manifest to being told, all together.
func TestManifest(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	good := `{"engine":"vllm","version":"0.32.0","build":"cu130","os":"linux","arch":"amd64","kind":"wheels","program":"vllm","files":[{"path":"w/a-1-py3-none-any.whl","sha256":"` + sum + `","bytes":5}]}`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"good":            {`{"releases":[` + good + `]}`, nil},
		"no JSON":         {`releases:`, []string{"cannot be read"}},
		"an unknown key":  {`{"release":[]}`, []string{"unknown field"}},
		"more behind":     {`{"releases":[]} {}`, []string{"behind its end"}},
		"one build twice": {`{"releases":[` + good + `,` + good + `]}`, []string{"there are two for vllm/cu130/linux/amd64"}},
		"latest":          {`{"releases":[` + strings.Replace(good, "0.32.0", "latest", 1) + `]}`, []string{`version "latest"`}},
		"leads out":       {`{"releases":[` + strings.Replace(good, "w/a-1", "../a-1", 1) + `]}`, []string{"below the mirror"}},
		"leads out too":   {`{"releases":[` + strings.Replace(good, `"vllm","files"`, `"/bin/sh","files"`, 1) + `]}`, []string{"inside of the release"}},
		"all at once": {
			`{"releases":[{"engine":"tgi","kind":"container"}]}`,
			[]string{`engine "tgi"`, "os and arch", `kind "container"`, "0 files"},
		},
		"one name twice": {
			`{"releases":[` + strings.Replace(good, `"bytes":5}]`, `"bytes":5},{"path":"v/a-1-py3-none-any.whl","sha256":"`+sum+`","bytes":5}]`, 1) + `]}`,
			[]string{"two files are named"},
		},
		"no hash": {`{"releases":[` + strings.Replace(good, sum, "", 1) + `]}`, []string{"has no hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := provision.ParseManifest([]byte(c.text), pinOf(c.text))
			if c.want == nil && (err != nil || len(m.Releases) != 1) {
				t.Fatal(m, err)
			}
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing in: %v", w, err)
				}
			}
		})
	}
	if _, err := provision.ParseManifest([]byte(`{}`), pinOf(`{"releases":[]}`)); !errors.Is(err, provision.ErrPin) {
		t.Errorf("another manifest: %v", err)
	}
}
