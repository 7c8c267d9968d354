package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/urfave/cli/v3"
)

// TestDataDirIsAllThatIsRead lets an older program start a newer one, whose settings
// it does not know.
func TestDataDirIsAllThatIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(file, []byte("data_dir: "+dir+"/data\nof_tomorrow: {a: 1}\nreserve: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // empty: an error
	}{
		{[]string{"--config", file}, dir + "/data"},
		{[]string{"--config", file, "--data-dir", dir + "/other"}, dir + "/other"},
		{[]string{"--config", dir + "/none"}, ""},
	} {
		var got string
		var err, strict error
		cmd := &cli.Command{Name: "run", Flags: commonFlags(), Action: func(_ context.Context, cmd *cli.Command) error {
			got, err = dataDir(cmd)
			_, strict = load(cmd)
			return nil
		}}
		if err := cmd.Run(t.Context(), append([]string{"run"}, c.args...)); err != nil {
			t.Fatal(err)
		}
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: want %q, got %q, %v", c.args, c.want, got, err)
		}
		if strict == nil {
			t.Errorf("%v: the agent itself does not know these settings", c.args)
		}
	}
}
