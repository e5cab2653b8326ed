package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// defaultListen is the address of a gateway that nobody gave one.
const defaultListen = "127.0.0.1:8787"

// serveFlags is everything one may say to serve.
type serveFlags struct {
	sends runFlags // what it says of sending, as to run

	listen          string // empty: the default, or a free port for a command
	tlsCert, tlsKey string
	allowHosts      []string
	preferGiven     bool
	cache           bool
	otel            string // endpoint; empty: that of the environment, if any
	logFormat       string // json, text; empty: text
	logLevel        slog.Level
}

const groupServe = "Serve"

func (f *serveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "", "`ADDRESS` to listen on (default "+defaultListen+"; a free port for a command); port 0 picks a free one")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "certificate `FILE` (PEM), to serve https")
	fs.StringVar(&f.tlsKey, "tls-key", "", "key `FILE` of the certificate (PEM)")
	fs.StringSliceVar(&f.allowHosts, "allow-host", nil, "further `NAMES` by which a loopback address may be called (host.docker.internal)")
	fs.BoolVar(&f.cache, "cache", false, "answer from the journal what was answered before: by body, and how-many-th equal one")
	group(cmd, groupServe, "listen", "tls-cert", "tls-key", "allow-host", "cache")

	f.sends.settings.add(cmd)
	f.sends.addManners(cmd)
	given(fs, "prefer", "fast|balanced|cheap", "what to care for in batches that clients create", "never above the batch price", parsePrefer, func(p flotilla.Prefer) {
		f.sends.prefer, f.preferGiven = p, true
	})
	group(cmd, groupRoute, "prefer")

	given(fs, "max-spend", "40", "cap in dollars: 40 while it serves, 40/day on this journal; repeatable", "", parseSpend, func(c spendCaps) { f.sends.spend.merge(c) })
	given(fs, "price", "MODEL:in=3,out=15", "dollars per million tokens of a model that has no price; repeatable", "", parsePriced, func(p pricedModel) { f.sends.priced = append(f.sends.priced, p) })
	group(cmd, groupMoney, "max-spend", "price")

	fs.StringVar(&f.otel, "otel-endpoint", "", "`URL` that spans go to (OTLP over HTTP; default $OTEL_EXPORTER_OTLP_ENDPOINT)")
	given(fs, "log", "text|json", "how to write the log", "text", choice("way to log", []string{"text", "json"}, []string{"text", "json"}), func(s string) { f.logFormat = s })
	given(fs, "log-level", "debug|info|warn|error", "what to log: every request, refusals, faults", "info", parseLevel, func(l slog.Level) { f.logLevel = l })
	fs.StringVar(&f.sends.trace, "trace", "", "write every decision as JSON lines to `FILE`")
	group(cmd, groupOutput, "otel-endpoint", "log", "log-level", "trace")
	f.sends.addLaw(cmd)
}

var parseLevel = choice("level", []string{"debug", "info", "warn", "error"}, []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError})

// pricedModel is a model at prices given by hand.
type pricedModel struct {
	id     string
	prices price.Prices
}

// parsePriced reads "MODEL:in=3,out=15".
func parsePriced(text string) (p pricedModel, err error) {
	id, prices, ok := strings.Cut(text, ":")
	if !ok || !isToken(id) {
		return p, fmt.Errorf("%q is not MODEL:in=3,out=15", text)
	}
	p.id = id
	p.prices, err = parsePrices(prices)
	return p, err
}

// check refuses what no setting could mend.
func (f *serveFlags) check() error {
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	for i, h := range f.allowHosts {
		f.allowHosts[i] = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h), "."))
		if strings.ContainsAny(h, ":/ ") {
			return withHint(fmt.Errorf("--allow-host %q is no name of a host", h), "without scheme and port: host.docker.internal")
		}
	}
	return nil
}

// logger writes to standard error: for people where one looks, for machines
// where asked.
func (f *serveFlags) logger(w io.Writer, t *terminal, env *environment) (*slog.Logger, error) {
	switch {
	case f.logFormat == "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: f.logLevel})), nil
	case t != nil:
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: f.logLevel, TimeFormat: time.TimeOnly, NoColor: !env.colors(t)})), nil
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: f.logLevel})), nil
}
