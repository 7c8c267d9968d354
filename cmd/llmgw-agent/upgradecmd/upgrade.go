package upgradecmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/agent/upgrade"
)

// url and keys are set by the linker of who releases; keys are public ones, with
// commas between them.
var url, keys = "https://llmgw.io/releases", ""

// Settings are what the configuration says of releases, beside the agent's own.
type Settings struct {
	DataDir, Version, URL string
	Keys                  []string
	Trial                 string
	Reach                 fetch.Reach
	Changed               func()
	Logger                *slog.Logger
}

// New makes the agent's upgrader. Nil: agents do not upgrade themselves here.
func New(s Settings) (agent.Upgrader, error) {
	if !upgrade.Supported {
		return nil, nil
	}
	var trial time.Duration
	if s.Trial != "" {
		var err error
		if trial, err = time.ParseDuration(s.Trial); err != nil || trial <= 0 {
			return nil, fmt.Errorf("releases.trial: %q is no time; write one such as 90s", s.Trial)
		}
	}
	if len(s.Keys) == 0 && keys != "" {
		s.Keys = strings.Split(keys, ",")
	}
	return upgrade.New(upgrade.Config{
		Dir: s.DataDir, Version: s.Version, URL: cmp.Or(s.URL, url), Keys: s.Keys, Trial: trial, Reach: s.Reach, Changed: s.Changed, Logger: s.Logger,
	})
}

// Around is the action of a command that runs the agent: it runs the version that
// is to run, which may be another program. dataDir reads no more of the
// configuration than the data folder: that version may know settings that this
// one does not.
func Around(dataDir func(*cli.Command) (string, error), run cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		dir, err := dataDir(cmd)
		if err != nil {
			return err
		}
		l := upgrade.Launcher{Dir: dir, Agent: func(ctx context.Context) error { return run(ctx, cmd) }}
		return l.Run(ctx)
	}
}
