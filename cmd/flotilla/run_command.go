package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandLine is a command for people to read and repeat. Flags hold no
// secrets: keys come from the environment alone.
func commandLine(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	for _, a := range args {
		words = append(words, shellQuote(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		for _, v := range flagTexts(f) {
			words = append(words, name)
			if v != "" || f.Value.Type() != "bool" {
				words = append(words, shellQuote(v))
			}
		}
	})
	return strings.Join(words, " ")
}

// flagTexts is what was typed for a flag, each time it was given; a switch has
// an empty text.
func flagTexts(f *pflag.Flag) []string {
	switch v := f.Value.(type) {
	case *givenFlag:
		return v.texts
	case pflag.SliceValue:
		if f.Value.Type() == "stringArray" {
			return v.GetSlice()
		}
		return []string{strings.Join(v.GetSlice(), ",")}
	}
	if f.Value.Type() == "bool" {
		return []string{""}
	}
	return []string{f.Value.String()}
}

// plainWord are the characters that no shell takes for anything else.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+"

// shellQuote writes a word so that a shell reads it back.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, plainWord) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
