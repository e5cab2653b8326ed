package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/price"
)

func newServeKeysCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Client keys of the gateway: add, list, revoke",
		Long: `Client keys say who may call the gateway, with which priority and for how much a day.
A key is printed once; the journal keeps its hash alone. A serve that runs goes by a
change within a second.`,
		Example: "  flotilla serve keys add alice --max-usd-per-day 20\n  flotilla serve keys list\n  flotilla serve keys revoke alice",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysAddCmd(), newKeysListCmd(), newKeysRevokeCmd())
	return cmd
}

// priorityNames are those of a client, as requests spell them.
var (
	priorityNames  = []string{flotilla.Interactive.String(), flotilla.Normal.String(), flotilla.Bulk.String()}
	priorityByName = map[string]flotilla.Priority{
		priorityNames[0]: flotilla.Interactive, priorityNames[1]: flotilla.Normal, priorityNames[2]: flotilla.Bulk,
	}
)

func newKeysAddCmd() *cobra.Command {
	var flags jobsFlags
	var client journal.Client
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a client's key and print it, once",
		Long: `Make a key and print it on standard output. Whoever has it may call the gateway as
NAME; nobody can read it again. With --priority its requests have that one and may
ask for lower ones; without, theirs is normal and they may ask for any.

A program of NAME's needs ANTHROPIC_BASE_URL (http://HOST:8787, where serve listens)
and the key as ANTHROPIC_API_KEY. What was spent counts by NAME: after revoke and add,
the new key goes on with what the old one has spent of the day.`,
		Example: "  flotilla serve keys add alice --max-usd-per-day 20 --priority interactive",
		Args:    exactArgs(1, "the name of a client"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client.Name = args[0]
			return flags.addKey(cmd, client)
		},
	}
	flags.addPlace(cmd)
	given(cmd.Flags(), "max-usd-per-day", "X", "most dollars that it may spend on a local day", "no cap", parseUSD, func(m flotilla.Money) { client.MaxPerDay = m })
	given(cmd.Flags(), "priority", "interactive|normal|bulk", "the highest that it may ask for, and that of requests that do not say", "",
		choice("priority", priorityNames, priorityNames), func(p string) { client.Priority = p })
	given(cmd.Flags(), "weight", "W", "its share among clients of one priority", "1", parseBudget, func(w float64) { client.Weight = w })
	return cmd
}

func parseUSD(text string) (flotilla.Money, error) {
	usd, err := price.Parse(text)
	if err != nil || usd <= 0 {
		return 0, fmt.Errorf("%q is no amount of dollars above 0", text)
	}
	return usd, nil
}

func (f *jobsFlags) addKey(cmd *cobra.Command, client journal.Client) error {
	if err := gateway.CheckName(client.Name); err != nil {
		return err
	}
	key := gateway.NewKey()
	client.KeyHash = gateway.HashKey(key)
	err := f.withNew(cmd, func(j *journal.Journal) error { return j.AddClient(cmd.Context(), client) })
	if errors.Is(err, journal.ErrClientExists) {
		return withHint(fmt.Errorf("there is a client %s already", client.Name), "flotilla serve keys revoke "+client.Name+" ends its key; then the name is free")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), key)
	return err
}

// keyLine is a client in a list.
type keyLine struct {
	Name      string          `json:"name"`
	Priority  string          `json:"priority,omitempty"`
	Weight    float64         `json:"weight"`
	MaxPerDay *flotilla.Money `json:"max_usd_per_day"`
	Spent     *flotilla.Money `json:"spent_today_usd"` // null: of one whose name a later key has, which has it
	Created   time.Time       `json:"created"`
	Revoked   *time.Time      `json:"revoked"`
}

func newKeysListCmd() *cobra.Command {
	var flags jobsFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the clients, what they may spend and have spent today",
		Example: "  flotilla serve keys list --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines := []keyLine{}
			err := flags.with(cmd, func(j *journal.Journal) (err error) {
				lines, err = listKeys(cmd.Context(), j)
				return err
			})
			if err != nil && !errors.Is(err, errNoJournal) {
				return err
			}
			if flags.json {
				return printJSON(cmd.OutOrStdout(), lines)
			}
			return printKeys(cmd.OutOrStdout(), lines)
		},
	}
	flags.add(cmd)
	return cmd
}

func listKeys(ctx context.Context, j *journal.Journal) ([]keyLine, error) {
	all, err := j.Clients(ctx)
	if err != nil {
		return nil, err
	}
	lines := make([]keyLine, 0, len(all))
	for i := range all {
		c := &all[i]
		l := keyLine{Name: c.Name, Priority: c.Priority, Weight: max(c.Weight, 0), Created: c.Created, Revoked: someTime(c.Revoked)}
		if c.Weight == 0 {
			l.Weight = 1
		}
		if c.MaxPerDay > 0 {
			l.MaxPerDay = &c.MaxPerDay
		}
		if !slices.ContainsFunc(all[i+1:], func(later journal.Client) bool { return later.Name == c.Name }) {
			spent, err := j.SpentBy(ctx, c.Name, time.Now())
			if err != nil {
				return nil, err
			}
			l.Spent = &spent
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func printKeys(w io.Writer, lines []keyLine) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(w, "no client keys")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "client\tpriority\tweight\ta day\tspent or set aside today\tadded\trevoked")
	for i := range lines {
		l := &lines[i]
		perDay, revoked, priority := "no cap", "", l.Priority
		if l.MaxPerDay != nil {
			perDay = dollars(*l.MaxPerDay)
		}
		if l.Revoked != nil {
			revoked = l.Revoked.Local().Format("2006-01-02 15:04")
		}
		spent := ""
		if l.Spent != nil {
			spent = l.Spent.String()
		}
		if priority == "" {
			priority = "any"
		}
		fmt.Fprintf(t, "%s\t%s\t%g\t%s\t%s\t%s\t%s\n", l.Name, priority, l.Weight, perDay, spent, l.Created.Local().Format("2006-01-02 15:04"), revoked)
	}
	return t.Flush()
}

func newKeysRevokeCmd() *cobra.Command {
	var flags jobsFlags
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a client's key: within a second nobody gets in with it",
		Example: "  flotilla serve keys revoke alice",
		Args:    exactArgs(1, "the name of a client"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.with(cmd, func(j *journal.Journal) error { return j.RevokeClient(cmd.Context(), args[0]) })
		},
	}
	flags.addPlace(cmd)
	return cmd
}
