package simcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/placement/fleetsim"
)

// Command is "sim". It writes its report to the command's writer, and answers an
// error whose Exit is 1 when a law broke and 2 when the input was wrong.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "sim",
		Usage:     "run a described fleet, its models and a day's events in virtual time, through the code that decides for real fleets",
		ArgsUsage: "FILE, or --replay PATH",
		Description: "FILE has the parts net, fleet, models and trace; examples/fleets has one, and the package placement/fleetsim\n" +
			"says what may stand in it. The same FILE and seed give the same report. The command exits with 1 when a law\n" +
			"of the scheduler broke, and with 2 when FILE does not read.",
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that chance begins with"},
			&cli.DurationFlag{Name: "for", Usage: "how much virtual `TIME` is run; default: to the last event, and an hour"},
			&cli.BoolFlag{Name: "heal", Usage: "make everything whole after the last event, and ask that it converges within 120 s and comes to rest"},
			&cli.FloatFlag{Name: "moves", Usage: "`PERCENT` of the replicas that may be moved in an hour to make room; 0: none"},
			&cli.StringFlag{Name: "journal", Usage: "write every decision with what it rests on to the journal in `FOLDER`, as a control plane does"},
			&cli.StringFlag{Name: "replay", Usage: "decide again what the journal at `PATH` has (of sim, or of a control plane), and show what would differ"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			files, path := cmd.Args().Len(), cmd.String("replay")
			switch {
			case path != "" && files == 0:
				return again(ctx, cmd.Root().Writer, path)
			case path != "":
				return badInput("--replay decides what a journal has, and runs no scenario; leave %s out", cmd.Args().First())
			case files != 1:
				return badInput("sim wants one file: llmgw-control sim examples/fleets/200-nodes.txt")
			}
			return run(ctx, cmd.Root().Writer, cmd)
		},
	}
}

func run(ctx context.Context, out io.Writer, cmd *cli.Command) (err error) {
	file := cmd.Args().First()
	sc, err := load(file)
	if err != nil {
		return err
	}
	if cmd.Duration("for") < 0 {
		return badInput("--for is below zero; give it a span such as 24h")
	}
	if m := cmd.Float("moves"); !(m >= 0 && m <= 100) {
		return badInput("--moves is %v; give it a share from 0 to 100", m)
	}
	o := fleetsim.Options{For: cmd.Duration("for"), Heal: cmd.Bool("heal")}
	o.Reconciler.Moves = cmd.Float("moves")
	if dir := cmd.String("journal"); dir != "" {
		j, failed := openJournal(ctx, dir)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, j.close()) }()
		o.Passed = j.note
	}
	// A run makes much that is soon of no use, and keeps little.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	report := fleetsim.Run(sc, o, source(cmd.Uint64("seed")))
	if _, err := fmt.Fprint(out, report); err != nil {
		return err
	}
	if report.Broke() {
		return &failure{code: 1, text: fmt.Sprintf("%d laws broke; that is a bug of llmgw: report it with %s and --seed %d", len(report.Violations)+report.Omitted, file, cmd.Uint64("seed"))}
	}
	return nil
}

// source is the chance of a seed; tests of the laws begin theirs the same way.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, fleetsim.Stream)) }

// load reads a scenario; complaints begin with the file and the line.
func load(file string) (*fleetsim.Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, badInput("the scenario cannot be read: %v; name a file such as examples/fleets/200-nodes.txt", err)
	}
	sc, err := fleetsim.Parse(string(text))
	if err == nil {
		return sc, nil
	}
	var lines []string
	for text := range strings.SplitSeq(err.Error(), "\n") {
		if rest, ok := strings.CutPrefix(text, "line "); ok {
			text = file + ":" + rest
		}
		lines = append(lines, text)
	}
	return nil, badInput("the scenario does not read; mend it and run it again:\n%s", strings.Join(lines, "\n"))
}

// failure is an error with the code that the process should exit with.
type failure struct {
	code int
	text string
}

func badInput(format string, args ...any) error {
	return &failure{code: 2, text: fmt.Sprintf(format, args...)}
}

func (f *failure) Error() string { return f.text }

// Exit is the code of the process.
func (f *failure) Exit() int { return f.code }
