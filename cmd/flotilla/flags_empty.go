package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refuseEmptyFlags is an error that names a flag whose text was given and is
// empty, such as --output "$OUT" where OUT is not set: the command would do
// something else than was meant, in silence. Flags with a parser of their own
// refuse it themselves.
func refuseEmptyFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil {
			err = emptyFlag(f)
		}
	})
	return err
}

func emptyFlag(f *pflag.Flag) error {
	text := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		text = list.GetSlice()
	} else if f.Value.Type() != "string" {
		return nil
	}
	full := slices.DeleteFunc(slices.Clone(text), func(s string) bool { return strings.TrimSpace(s) == "" })
	switch {
	case len(full) == 0:
		return withHint(fmt.Errorf("--%s is empty", f.Name), "leave it out, or see whether a variable of the shell has no value")
	case len(full) < len(text):
		return fmt.Errorf("--%s has an empty part", f.Name)
	}
	return nil
}
