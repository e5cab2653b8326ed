package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of flags in the help, in their order (interface.md, "Flags of run").
const (
	groupRequest  = "Request"
	groupRoute    = "Route and manners"
	groupMoney    = "Money"
	groupOutput   = "Output"
	groupResume   = "Resume"
	groupOther    = "Other"
	groupAdvanced = "Advanced"
)

var groupOrder = []string{groupServe, groupJudge, groupRequest, groupRoute, groupMoney, groupOutput, groupResume, groupOther, groupAdvanced}

const groupAnnotation = "flotilla_group"

// group puts flags of a command under a heading of its help.
func group(cmd *cobra.Command, heading string, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			panic("no flag --" + name) // every test of the command would show it
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[groupAnnotation] = []string{heading}
	}
}

func groupOf(f *pflag.Flag) string {
	if g := f.Annotations[groupAnnotation]; len(g) > 0 {
		return g[0]
	}
	return groupOther
}

// printHelp is the help of every command: what it does, an example, its flags
// in groups, the expert ones last.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	what := cmd.Long
	if what == "" {
		what = cmd.Short
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(what), usageLine(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExample:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	printCommands(w, cmd)
	printFlags(w, cmd)
}

func usageLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() && !cmd.HasParent() {
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

func printCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		var lines []string
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				lines = append(lines, fmt.Sprintf("  %-12s %s\n", c.Name(), c.Short))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s\n%s", g.Title, strings.Join(lines, ""))
		}
	}
}

func printFlags(w io.Writer, cmd *cobra.Command) {
	sets := map[string]*pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		g := groupOf(f)
		if sets[g] == nil {
			sets[g] = pflag.NewFlagSet(g, pflag.ContinueOnError)
		}
		sets[g].AddFlag(f)
	})
	headings := slices.DeleteFunc(slices.Clone(groupOrder), func(g string) bool { return sets[g] == nil })
	for _, g := range headings {
		title := g
		if len(headings) == 1 {
			title = "Flags"
		}
		fmt.Fprintf(w, "\n%s:\n%s", title, sets[g].FlagUsages())
	}
}
