package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Outcomes of a check.
const (
	checkOK   = "ok"
	checkWarn = "warning"
	checkFail = "error"
	checkNone = "-" // nothing to check
)

// check is one thing the doctor looked at.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// doctor looks at everything a run depends on. It sends no call that costs.
type doctor struct {
	settings *Settings
	checks   []check
}

func newDoctorCmd() *cobra.Command {
	var flags settingsFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check keys, orgs, clock, file limit, disk, journal and proxy",
		Long:    "Check what a run depends on: keys (never printed), org ids, clock, file limit, disk,\njournal, proxy. Everything it asks the API for is free.",
		Example: "  flotilla doctor\n  flotilla doctor --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := flags.load(cmd)
			if err != nil {
				return err
			}
			d := &doctor{settings: s}
			d.examine(cmd.Context())
			return d.tell(cmd, asJSON)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (d *doctor) examine(ctx context.Context) {
	d.configuration()
	d.keys()
	d.orgs(ctx)
	d.files()
	d.journal(ctx)
	d.proxy()
}

func (d *doctor) add(name, status, hint, format string, args ...any) {
	d.checks = append(d.checks, check{name, status, fmt.Sprintf(format, args...), hint})
}

func (d *doctor) tell(cmd *cobra.Command, asJSON bool) error {
	failed := false
	for _, c := range d.checks {
		failed = failed || c.Status == checkFail
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, map[string]any{"ok": !failed, "checks": d.checks}); err != nil {
			return err
		}
	} else if err := printChecks(out, d.checks); err != nil {
		return err
	}
	if failed {
		return exitWith(exitUsage, nil)
	}
	return nil
}

func printChecks(w io.Writer, checks []check) error {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-8s %-14s %s\n", c.Status, c.Name, c.Detail)
		if c.Hint != "" {
			fmt.Fprintf(&b, "%-8s %-14s hint: %s\n", "", "", c.Hint)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *doctor) configuration() {
	s := d.settings
	for _, w := range s.Warnings {
		d.add("configuration", checkWarn, "", "%s", w)
	}
	if len(s.Files) > 0 {
		d.add("configuration", checkOK, "", "read %s", strings.Join(s.Files, ", "))
	}
	d.add("base URL", checkOK, "", "%s (%s)", s.BaseURL, s.BaseURLFrom)
}

// keys says which keys there are, never what they are.
func (d *doctor) keys() {
	s := d.settings
	for _, o := range s.Orgs {
		d.add("key", checkOK, "", "%s: %s, fingerprint %s", o.Name, o.KeyEnv, fingerprint(o.Key))
	}
	for _, a := range s.AdminKeys {
		d.add("admin key", checkOK, "", "%s, fingerprint %s", a.Env, fingerprint(a.Key))
	}
	if err := s.NeedOrgs(); err != nil {
		d.add("key", checkFail, hintFor(err), "%s", err)
	}
}

// fingerprint tells keys apart without telling anything of them.
func fingerprint(key flotilla.Key) string {
	sum := sha256.Sum256([]byte(string(key)))
	return hex.EncodeToString(sum[:4])
}

// maxSkew is how far the provider's clock may be from ours before deadlines
// and reset times are worth a word.
const maxSkew = 5 * time.Second

// orgs asks each org who it is: GET /v1/models costs nothing.
func (d *doctor) orgs(ctx context.Context) {
	if len(d.settings.Orgs) == 0 {
		return
	}
	fleet, err := flotilla.New(d.settings.FleetConfig())
	if err != nil {
		d.add("orgs", checkFail, hintFor(err), "%s", err)
		return
	}
	defer fleet.Close() // nothing was sent that could be lost
	infos, err := fleet.Connect(ctx)
	for _, o := range infos {
		d.org(o)
		d.tiers(ctx, &o)
	}
	if err != nil && (len(infos) == 0 || !errors.Is(err, flotilla.ErrNoOrg)) {
		d.add("orgs", checkFail, hintFor(err), "%s", err)
	}
}

func (d *doctor) org(o flotilla.OrgInfo) {
	name := "org " + o.Name
	switch {
	case o.Err != nil:
		d.add(name, checkFail, hintFor(o.Err), "%s", o.Err)
		return
	case o.SameAs != "":
		d.add(name, checkWarn, "a second key of one org adds no limits", "the same org as %s (%s)", o.SameAs, o.ID)
		return
	}
	what := "id " + o.ID
	if o.ID == "" {
		what = "answers, without an organisation id"
	}
	if o.Emulated != "" {
		d.add(name, checkOK, "", "%s, emulated: %s", what, o.Emulated)
		return
	}
	if o.Skew.Abs() > maxSkew {
		d.add(name, checkWarn, "set this machine's clock; deadlines are by it", "%s, its clock is %s from ours", what, o.Skew)
		return
	}
	d.add(name, checkOK, "", "%s, clocks agree within %s", what, maxSkew)
}

// wantFiles is what the sockets of all etiquette caps, a journal and some
// inputs need.
const wantFiles = 1024

func (d *doctor) files() {
	soft, hard, err := fileLimit()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		d.add("file limit", checkNone, "", "this system has none")
	case err != nil:
		d.add("file limit", checkWarn, "", "%s", err)
	case soft < wantFiles:
		d.add("file limit", checkWarn, fmt.Sprintf("ulimit -n %d", wantFiles), "%d open files (at most %d)", soft, hard)
	default:
		d.add("file limit", checkOK, "", "%d open files", soft)
	}
}

func (d *doctor) journal(ctx context.Context) {
	path, err := journal.Locate(d.settings.Journal, ".")
	if err != nil {
		d.add("journal", checkFail, hintFor(err), "%s", err)
		return
	}
	d.disk(path)
	if _, err := os.Stat(path); err != nil {
		if err := writable(filepath.Dir(path)); err != nil {
			d.add("journal", checkFail, "--journal PATH (or FLOTILLA_JOURNAL) puts it where you may write", "%s cannot be created: %s", path, err)
			return
		}
		d.add("journal", checkOK, "", "%s will be created", path)
		return
	}
	j, err := journal.Open(ctx, path, journal.Options{})
	if err != nil {
		d.add("journal", checkFail, hintFor(err), "%s", err)
		return
	}
	if err := j.Close(); err != nil {
		d.add("journal", checkFail, hintFor(err), "closing %s: %s", path, err)
		return
	}
	d.add("journal", checkOK, "", "%s", path)
}

// Free disk: a million answers of 1 KB are 2 GB with their outputs.
const (
	lowDisk = 2 << 30
	noDisk  = 64 << 20
)

func (d *doctor) disk(path string) {
	dir := existing(filepath.Dir(path))
	free, err := freeDisk(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		d.add("disk", checkNone, "", "free space cannot be read on this system")
	case err != nil:
		d.add("disk", checkWarn, "", "%s: %s", dir, err)
	case free < noDisk:
		d.add("disk", checkFail, "free some space, or put the journal elsewhere with --journal", "%d MB free in %s", free>>20, dir)
	case free < lowDisk:
		d.add("disk", checkWarn, "", "%d MB free in %s", free>>20, dir)
	default:
		d.add("disk", checkOK, "", "%d GB free in %s", free>>30, dir)
	}
}

// existing is the nearest directory upwards that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writable reports why nothing can be created in dir, or in what there is of it.
func writable(dir string) error {
	f, err := os.CreateTemp(existing(dir), ".flotilla-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (d *doctor) proxy() {
	if p := proxyFor(d.settings.BaseURL); p != "" {
		d.add("proxy", checkOK, "", "%s is reached through %s", d.settings.BaseURL, p)
	} else {
		d.add("proxy", checkOK, "", "none for %s", d.settings.BaseURL)
	}
	if v, inReal, ok := d.settings.Env.lookup("HTTPS_PROXY"); ok && !inReal && v != "" {
		d.add("proxy", checkWarn, "export HTTPS_PROXY", "HTTPS_PROXY in %s is not used", dotEnvName)
	}
	if file := d.settings.Env.real["SSL_CERT_FILE"]; file != "" {
		if _, err := os.Stat(file); err != nil {
			d.add("certificates", checkFail, "", "SSL_CERT_FILE: %s", err)
		} else {
			d.add("certificates", checkOK, "", "SSL_CERT_FILE is %s", file)
		}
	}
}
