package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/journal"
)

// commandWords reads a command as commandLine writes it back into words. The
// error says that it is none.
func commandWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quoted := false, false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == ' ':
			end()
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			begun = true
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("the command of the job ends in a quotation: %s", line)
	}
	end()
	return words, nil
}

// commandAgain is the command that words are of, without its flags; nil: it carries no
// job.
func commandAgain(words []string) (*runFlags, *cobra.Command) {
	if len(words) < 2 {
		return nil, nil
	}
	switch words[1] {
	case "run":
		f := &runFlags{}
		return f, f.command()
	case "judge":
		f := &runFlags{judge: &judgeFlags{}}
		return f, f.judgeCommand()
	}
	return nil, nil
}

// runAgain is the command of a job, ready to be run in this process: flags as
// they were given, inputs as they were named.
func runAgain(cmd *cobra.Command, info *journal.JobInfo) (*runFlags, *cobra.Command, []string, error) {
	words, err := commandWords(info.Command)
	if err != nil {
		return nil, nil, nil, err
	}
	f, again := commandAgain(words)
	if f == nil {
		return nil, nil, nil, fmt.Errorf("the command of job %s is not one of run: %s", info.Key, info.Command)
	}
	(&cobra.Command{Use: words[0]}).AddCommand(again) // the journal is told the command anew, whole
	if err := again.ParseFlags(words[2:]); err != nil {
		return nil, nil, nil, fmt.Errorf("the command of job %s: %w", info.Key, err)
	}
	again.SetContext(cmd.Context())
	again.SetIn(cmd.InOrStdin())
	again.SetOut(cmd.OutOrStdout())
	again.SetErr(cmd.ErrOrStderr())
	inputs := again.Flags().Args()
	for _, in := range inputs {
		if in == "-" {
			return nil, nil, nil, errors.New("its input was standard input, which is gone")
		}
	}
	return f, again, inputs, nil
}
