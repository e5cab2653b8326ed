package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
	"github.com/flotilla-llm/flotilla/journal"
)

func newServeCmd() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [flags] [-- COMMAND…]",
		Short: "Serve the Claude API over all orgs, for programs that call it already",
		Long: `serve answers as the Claude API does: Messages (JSON and streams), token counting,
Message Batches and Models. A program needs another base URL and nothing else; its
calls go over all orgs, at the pace that their limits allow, under one cap.

Requests may say x-flotilla-priority: interactive, normal or bulk,
x-flotilla-prefer, x-flotilla-deadline and x-flotilla-max-wait. The dashboard is at /,
with why each of the last calls waited; Prometheus metrics are at /metrics. Batches
that clients created go on with the next serve on the journal.

With a COMMAND it serves for as long as that runs, on a port of its own: the command
gets ANTHROPIC_BASE_URL and a key that is good here alone, none of yours, and its
exit code is serve's. --cache answers from the journal what was answered before: a
script that crashed and is run again pays for the rest.

On a loopback address anybody on this machine may call, until there are client keys
(serve keys add NAME). On any other address nobody may without one.`,
		Example: `  flotilla serve --max-spend 40/day
  flotilla serve --max-spend 5 --cache -- python evaluate.py
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_API_KEY=any python evaluate.py`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	cmd.AddCommand(newServeKeysCmd())
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	command, err := commandAfterDash(cmd, args)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	s, err := f.sends.settings.load(cmd)
	if err != nil {
		return err
	}
	f.sends.apply(s)
	if err := s.checkFloors(); err != nil {
		return err
	}
	v := &server{crew: newCrew(s, &f.sends, cmd.ErrOrStderr()), flags: f, tally: newTally()}
	if len(command) > 0 {
		v.child = &child{args: command, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
		if err := v.child.find(s.Env); err != nil {
			return err
		}
	}
	return v.run(cmd.Context())
}

// commandAfterDash is the command behind --. Words before it are mistakes: they
// would be taken for commands of serve, or for nothing.
func commandAfterDash(cmd *cobra.Command, args []string) ([]string, error) {
	at := cmd.ArgsLenAtDash()
	switch {
	case at < 0 && len(args) > 0:
		return nil, withHint(fmt.Errorf("serve takes no argument %q", args[0]), "a command to serve goes behind --: flotilla serve -- "+quoted(args))
	case at > 0:
		return nil, withHint(fmt.Errorf("serve takes no argument %q", args[0]), "flags go before --, the command behind it")
	case at == 0 && len(args) == 0:
		return nil, withHint(errors.New("no command behind --"), "flotilla serve -- python script.py")
	}
	return args, nil
}

// server is one invocation of serve on its way.
type server struct {
	crew
	flags *serveFlags
	child *child // nil: until it is told to stop

	log    *slog.Logger
	outlet *outlet
	board  board

	gateway *gateway.Gateway
	budgets *gateway.Budgets
	pot     *flotilla.Pot // of --max-spend; nil: no cap
	tally   *tally
	metrics *gateway.Metrics
	spans   *gateway.Spans // nil: none
	http    *http.Server

	lost chan struct{} // holds a token once the journal cannot be written
}

// run opens everything, in the order in which it can go wrong cheaply, serves,
// and closes everything again.
func (v *server) run(ctx context.Context) (err error) {
	defer keepOnBrokenPipe()()
	if err := v.settings.NeedOrgs(); err != nil {
		return err
	}
	path, err := journal.Locate(v.settings.Journal, ".")
	if err != nil {
		return err
	}
	if v.log, err = v.flags.logger(v.err, v.errTerminal, v.settings.Env); err != nil {
		return err
	}
	if v.outlet, err = v.listen(ctx); err != nil {
		return err
	}
	defer v.outlet.Close()
	v.metrics = gateway.NewMetrics(buildVersion().Version)
	v.notify, v.observe, v.lost = v.noticed, v.observed, make(chan struct{}, 1)
	return v.with(ctx, path, func() error { return v.serve(ctx, filepath.Dir(path)) })
}

// listen takes the address before anything else is opened: most often it is that
// which is wrong.
func (v *server) listen(ctx context.Context) (*outlet, error) {
	address := cmp.Or(v.flags.listen, defaultListen)
	if v.child != nil && v.flags.listen == "" {
		address = "127.0.0.1:0"
	}
	o, err := openOutlet(ctx, "--listen", address, v.flags.tlsCert, v.flags.tlsKey)
	if err == nil && o.leadsBack(v.settings) {
		return nil, errors.Join(flotilla.ErrOurselves, o.Close())
	}
	return o, err
}

// serve serves until the child has ended, a signal has come or the journal is lost.
func (v *server) serve(ctx context.Context, dir string) error {
	mark, err := v.known(ctx)
	if err != nil {
		return err
	}
	clients, err := v.clients(ctx)
	if err != nil {
		return err
	}
	if err := v.openSpans(ctx); err != nil {
		return err
	}
	defer v.closeSpans()
	// From here on batches go on: what can be wrong has been looked at.
	if err := v.open(ctx, dir, mark); err != nil {
		return err
	}
	defer v.budgets.Close()
	v.watch()
	if err := v.openBoard(ctx, mark); err != nil {
		return err
	}
	defer v.board.close()
	v.http = gateway.NewServer(gateway.Shell(v.shell(clients)), v.log)
	v.start(ctx, mark)
	broken := make(chan error, 1)
	go func() { broken <- v.outlet.serve(v.http, v.maxConnections()) }()
	if v.child != nil {
		return v.serveChild(ctx, broken)
	}
	select {
	case <-ctx.Done():
	case err := <-broken:
		return errors.Join(err, v.shut(ctx))
	case <-v.lost:
		// Nothing can be sent any more, and only a new process can: whatever keeps
		// this one running begins another. shut has the cause.
	}
	v.sayStopping()
	err = v.shut(ctx)
	v.summary()
	select {
	case <-stopNow(ctx):
		return exitWith(exitInterrupted, err) // somebody would not wait
	default:
		return err
	}
}

// clients says who may call: the command alone, where there is one.
func (v *server) clients(ctx context.Context) (gateway.Clients, error) {
	if v.child != nil {
		return gateway.OneKey(v.child.key), nil
	}
	return v.outlet.clients(ctx, v.journal, v.log)
}

// open makes the gateway and what it spends from.
func (v *server) open(ctx context.Context, dir, mark string) (err error) {
	s := v.settings
	provider, err := flotilla.Provider(s.BaseURL)
	if err != nil {
		return err
	}
	c := gateway.Config{
		Fleet: v.fleet, Journal: v.journal, Provider: provider, Emulated: mark,
		Prefer: v.flags.sends.prefer, PreferGiven: v.flags.preferGiven, Cache: v.flags.cache,
		Capped: s.MaxSpend > 0, PotsOf: v.potsOf, Spool: filepath.Join(dir, "batches"), Now: v.fleet.Now, Log: v.log, Prices: v.sends.prices(),
	}
	if s.MaxSpend > 0 {
		if v.pot, err = v.fleet.Pot(ctx, gateway.OwnBudget, s.MaxSpend, 0); err != nil {
			return err
		}
		c.Pots = []*flotilla.Pot{v.pot}
	}
	if s.MaxSpendPerDay > 0 {
		c.PurseOf = func(job int64) flotilla.Purse {
			return &purse{journal: v.journal, job: job, limit: s.MaxSpendPerDay, now: v.fleet.Now}
		}
	}
	v.budgets = gateway.NewBudgets(gateway.BudgetConfig{
		Open: func(ctx context.Context, name string, limit, spent flotilla.Money, held ...flotilla.HeldBatch) (gateway.Pot, error) {
			return v.fleet.Pot(ctx, name, limit, spent, held...)
		},
		Book: v.journal, Now: v.fleet.Now, Log: v.log,
	})
	if v.gateway, err = gateway.New(ctx, c); err != nil {
		v.budgets.Close()
	}
	return err
}

// potsOf is what a caller may spend from besides the gateway's own caps.
func (v *server) potsOf(ctx context.Context, c gateway.Caller) ([]*flotilla.Pot, error) {
	pot, err := v.budgets.Of(ctx, c.Name)
	if err != nil || pot == nil {
		return nil, err
	}
	return []*flotilla.Pot{pot.(*flotilla.Pot)}, nil
}

// shell is the outside of the gateway. A command's own gateway has no pages:
// nobody but the command knows its key.
func (v *server) shell(clients gateway.Clients) gateway.ShellConfig {
	c := gateway.ShellConfig{
		API: v.gateway, Clients: clients, Loopback: v.outlet.loopback, Hosts: v.flags.allowHosts, Log: v.log, Tell: v.told,
	}
	if v.spans != nil {
		c.Tracer = v.spans
	}
	if v.watched() {
		c.Metrics, c.Dashboard = v.metrics.Handler(), &v.board
	}
	return c
}

// watched says whether there are pages and metrics.
func (v *server) watched() bool { return v.child == nil || v.flags.listen != "" }

// shut lets what is under way end, for drainFor at most and no longer than until
// a second signal, and closes gateway and server.
func (v *server) shut(ctx context.Context) error {
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-stopNow(ctx):
			v.fleet.Abort()
			cancel()
		case <-done:
		}
	}()
	err := v.gateway.Close(drain)
	v.board.close() // those who look would be waited for
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancelLast()
	if e := v.http.Shutdown(last); e != nil {
		e = v.http.Close() // somebody reads too slowly to wait for
		err = errors.Join(err, e)
	}
	return err
}

// lastWrite is how long answers that are complete may take to be written.
const lastWrite = 500 * time.Millisecond

// noticed logs what people should know.
func (v *server) noticed(n flotilla.Notice) {
	if text := noticeText(&n); text != "" {
		v.log.Info(text)
	}
	if n.Kind == flotilla.StoreFailed { // once at most
		v.lost <- struct{}{}
	}
}

// maxConnections is how many callers may be connected: what the limit on open
// files leaves beside the orgs' connections, at most 8,192.
func (v *server) maxConnections() int {
	const most, least = 8192, 64
	limit, _, err := fileLimit()
	if err != nil {
		return most
	}
	toOrgs := uint64(v.widestCap() * len(v.settings.Orgs))
	if v.maxConns > 0 {
		toOrgs = uint64(v.maxConns * len(v.settings.Orgs))
	}
	if limit < toOrgs+filesAside+least {
		return least
	}
	return int(min(limit-toOrgs-filesAside, most))
}
