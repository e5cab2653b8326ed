package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/flotilla-llm/flotilla/internal/dashboard"
	"github.com/flotilla-llm/flotilla/internal/gateway"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// ui is the dashboard of a job, and where it is shown.
type ui struct {
	board  board
	outlet *outlet // nil: none was asked for
	http   *http.Server
	ended  chan error // of serving
}

// uiConnections is how many may look at one job: each page holds one connection
// for what is new.
const uiConnections = 256

// listen takes the address of --ui before anything else is opened.
func (u *ui) listen(ctx context.Context, address string) (err error) {
	if address != "" {
		u.outlet, err = openOutlet(ctx, "--ui", address, "", "")
	}
	return err
}

// show shows a job that begins.
func (r *runner) show(ctx context.Context, mark string, run *job.Run) error {
	u := &r.ui
	if u.outlet == nil {
		return nil
	}
	clients, err := u.outlet.clients(ctx, r.journal, nil)
	if err != nil {
		return err
	}
	key := r.plan.Job
	err = u.board.open(ctx, &r.crew, mark, "run", func(c *dashboard.Config) {
		c.Live = func(asked string) (job.RowReader, bool) { return run.Rows(), asked == key }
	})
	if err != nil {
		return err
	}
	u.http = gateway.NewServer(gateway.Shell(gateway.ShellConfig{
		Dashboard: &u.board, Clients: clients, Loopback: u.outlet.loopback,
	}), nil)
	u.ended = make(chan error, 1)
	outlet, server, ended := u.outlet, u.http, u.ended
	go func() { ended <- outlet.serve(server, uiConnections) }()
	_, _ = fmt.Fprintf(r.err, "flotilla: dashboard at %s/#/jobs/%s\n", outlet.url, key)
	return nil
}

// stay leaves a job that is over on show until a signal.
func (r *runner) stay(ctx context.Context) {
	if r.ui.http == nil || !r.flags.uiStays || ctx.Err() != nil {
		return
	}
	_, _ = fmt.Fprintf(r.err, "flotilla: the dashboard stays at %s/ until Ctrl-C\n", r.ui.outlet.url)
	<-ctx.Done()
}

// close ends the show, if there is one, and gives the address back.
func (u *ui) close() error {
	outlet := u.outlet
	u.outlet = nil
	switch {
	case outlet == nil:
		return nil
	case u.http == nil:
		return outlet.Close()
	}
	u.board.close()
	return errors.Join(u.http.Close(), <-u.ended)
}
