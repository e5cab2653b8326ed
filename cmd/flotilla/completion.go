package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletionCmd() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print a shell's completion script",
		Example:   "  source <(flotilla completion bash)\n  flotilla completion fish > ~/.config/fish/completions/flotilla.fish",
		Args:      exactArgs(1, "the name of a shell"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			}
			return withHint(fmt.Errorf("no completion for the shell %q", args[0]), "bash, zsh and fish have one")
		},
	}
}
