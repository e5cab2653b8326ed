package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Groups of commands in the help.
const (
	commandsWork  = "work"
	commandsKnow  = "know"
	commandsTry   = "try"
	commandsOther = "other"
)

func newRootCmd() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "flotilla",
		Short: "Carry a file of prompts to a file of results over several orgs, without a 429 storm",
		Long: `flotilla finishes many Claude calls in the least time inside the money and the
manners you set: no 429 storms, no call lost, none paid for twice, stop and go on
at any moment.`,
		Example: `  flotilla run prompts.csv --prompt '{{.question}}' --model claude-haiku-4-5 --max-tokens 300 -o out.jsonl
  flotilla demo`,
		Args:          noArgs,
		SilenceErrors: true, // report prints them, with their hint
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return buildVersion().print(cmd.OutOrStdout())
			}
			return cmd.Help()
		},

		PersistentPreRunE: refuseEmptyFlags,
	}
	root.Flags().BoolVar(&version, "version", false, "what flotilla version prints")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: commandsWork, Title: "Work:"},
		&cobra.Group{ID: commandsKnow, Title: "Know:"},
		&cobra.Group{ID: commandsTry, Title: "Try without a key:"},
		&cobra.Group{ID: commandsOther, Title: "Other:"},
	)
	addCommands(root, commandsWork, newRunCmd(), newJudgeCmd(), newServeCmd())
	addCommands(root, commandsKnow, newPlanCmd(), newLimitsCmd(), newMeasureCmd(), newReportCmd(), newJobsCmd(), newDoctorCmd())
	addCommands(root, commandsTry, newDemoCmd(), newEmulateCmd())
	addCommands(root, commandsOther, newVersionCmd(), newCompletionCmd())
	root.SetHelpCommandGroupID(commandsOther)
	return root
}

func addCommands(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// flagError adds where to look for the flags there are.
func flagError(cmd *cobra.Command, err error) error {
	return withHint(err, cmd.CommandPath()+" --help lists the flags")
}

// exactArgs is a usage error with a hint unless the command got n arguments.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return withHint(fmt.Errorf("%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args)), "usage: "+cmd.UseLine())
	}
}

// noArgs refuses arguments; on the root command they are commands that do not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasParent() {
		return unknownCommand(cmd, args[0])
	}
	return exactArgs(0, "no arguments")(cmd, args)
}

func unknownCommand(root *cobra.Command, name string) error {
	hint := "flotilla --help lists the commands"
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean flotilla " + strings.Join(near, " or flotilla ") + "?"
	}
	return withHint(fmt.Errorf("there is no command %q", name), hint)
}
