package upgrade

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/inventory"
)

// Upgrader is the part of an agent that runs which brings other versions of it.
// [New] makes one.
type Upgrader struct {
	cfg  Config
	dir  string
	keys []release.Key
	http *http.Client
	me   place

	// busy is held for as long as a version is brought.
	busy sync.Mutex

	mu     sync.Mutex
	status *inventory.Upgrade
}

// New checks the configuration and reads how the last upgrade went.
func New(cfg Config) (*Upgrader, error) {
	cfg = cfg.withDefaults()
	keys, err := cfg.check()
	if err != nil {
		return nil, err
	}
	u := &Upgrader{cfg: cfg, dir: Folder(cfg.Dir), keys: keys, http: cfg.HTTP}
	if u.http == nil {
		if u.http, err = cfg.Reach.Client("releases", cfg.Logger); err != nil {
			return nil, err
		}
	}
	if u.me, err = here(u.dir); err != nil {
		return nil, fmt.Errorf("find this program's own path: %w", err)
	}
	switch s, err := u.last(); {
	case err != nil:
		cfg.Logger.Error("what is known of upgrades cannot be read", "err", err)
	case s != nil:
		u.status = s.status()
		if s.Phase == inventory.UpgradeFailed {
			cfg.Logger.Warn("the last upgrade failed, and this version runs again", "from", s.From, "to", s.To, "err", s.Error)
		}
	}
	return u, nil
}

// last is what is written down, unless it is of another program than this one.
func (u *Upgrader) last() (*state, error) {
	s, err := readState(u.dir)
	if s != nil && u.me.folder == "" && !u.me.have.equal(s.Installed) {
		return nil, err
	}
	return s, err
}

// Status is how the last upgrade goes or went. Nil: there was none that counts.
func (u *Upgrader) Status() *inventory.Upgrade {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

func (u *Upgrader) say(s *inventory.Upgrade) {
	u.mu.Lock()
	u.status = s
	u.mu.Unlock()
	u.cfg.Changed()
}

// Upgrade brings a version to this machine, proves it, and writes down that it is
// on trial. Nil: the agent is to end with ErrTaken. An error is a sentence for
// people, and nothing has changed then.
func (u *Upgrader) Upgrade(ctx context.Context, version string) error {
	if !u.busy.TryLock() {
		return fmt.Errorf("an upgrade is under way on this node already; wait for it, and ask again")
	}
	defer u.busy.Unlock()
	before, err := u.may(version)
	if err != nil {
		return err
	}
	was := u.Status()
	u.say(&inventory.Upgrade{From: u.cfg.Version, To: version, State: inventory.UpgradeFetching, Since: now()})
	s, err := u.bring(ctx, version, before)
	if err != nil {
		debug.FreeOSMemory() // a program of tens of MiB was held
		u.cfg.Logger.Warn("an upgrade was refused", "to", version, "err", err)
		u.say(was)
		return err
	}
	u.cfg.Logger.Info("an upgrade begins", "from", u.cfg.Version, "to", version)
	u.say(s.status())
	return nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// may says why a version cannot follow this one, before anything is fetched. It
// gives what is written down.
func (u *Upgrader) may(version string) (*state, error) {
	if !Supported {
		return nil, fmt.Errorf("agents do not upgrade themselves on this system; install version %s", version)
	}
	if err := release.CheckTag(version); err != nil {
		return nil, err
	}
	s, err := u.last()
	switch {
	case err != nil:
		u.cfg.Logger.Error("what is known of upgrades cannot be read, and is written anew", "err", err)
		s = nil
	case s != nil && s.Phase == inventory.UpgradeTrial:
		return nil, fmt.Errorf("this node is on trial with %s, until the control plane has answered it; ask again in a minute", s.To)
	}
	switch {
	case !release.Newer(version, u.cfg.Version):
		return nil, fmt.Errorf("%s runs here and %s is not newer; versions only rise: to go back, install the package of the older one", u.cfg.Version, version)
	case len(u.keys) == 0:
		return nil, fmt.Errorf("this agent trusts no key that releases are signed by; put the public key (RW…) under releases.keys in its configuration, and start it again")
	}
	return s, nil
}

// bring fetches, verifies, proves and puts in place, in this order.
func (u *Upgrader) bring(ctx context.Context, version string, before *state) (*state, error) {
	if err := u.folder(); err != nil {
		return nil, err
	}
	want := release.Want{Version: version, OS: u.cfg.OS, Arch: u.cfg.Arch}
	signature, err := u.get(ctx, want, want.File()+".minisig", release.MaxSignature)
	if err != nil {
		return nil, err
	}
	program, err := u.get(ctx, want, want.File(), u.cfg.MaxBytes)
	if err != nil {
		return nil, err
	}
	if err := release.Verify(u.keys, want, program, signature); err != nil {
		return nil, fmt.Errorf("%s of %s is not taken: %w; look at what is at %s", want.File(), version, unwrapped(err), u.cfg.URL)
	}
	if err := u.place(ctx, version, program, signature); err != nil {
		return nil, err
	}
	s := &state{
		Phase: inventory.UpgradeTrial, From: u.cfg.Version, To: version, Back: u.me.folder, Installed: u.me.have,
		Within: u.cfg.Trial, Most: u.cfg.Attempts, Deadline: time.Now().Add(u.cfg.Trial), Since: now(),
	}
	if u.me.folder != "" && before != nil {
		s.Installed = before.Installed
	}
	if err := s.write(u.dir); err != nil {
		return nil, u.diskError(err)
	}
	if err := link(u.dir, version); err != nil {
		u.cfg.Logger.Warn("the link to the current version was not set; the next start does it", "err", err)
	}
	return s, nil
}

// Healthy says that the control plane has answered this agent. A version on trial
// is done with it; for any other nothing happens. It is safe to repeat, and should
// be on an error.
func (u *Upgrader) Healthy() error {
	s, err := u.last()
	if err != nil || s == nil {
		return err
	}
	if s.Phase == inventory.UpgradeTrial && s.To == u.me.folder && u.me.guarded {
		s.Phase, s.Error, s.Since = inventory.UpgradeDone, "", now()
		if err := s.write(u.dir); err != nil {
			return fmt.Errorf("that this version works cannot be written down, so its guard will go back to %s: %w", s.From, err)
		}
		u.cfg.Logger.Info("the upgrade is done", "from", s.From, "to", s.To)
		u.say(s.status())
	}
	u.sweep(s)
	return nil
}
