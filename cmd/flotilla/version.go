package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/price"
)

// versionInfo is what flotilla version tells.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"` // built from changed files
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Prices  string `json:"prices"` // date of the price table
}

func newVersionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the date of the price table",
		Example: "  flotilla version --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := buildVersion()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			return v.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func buildVersion() versionInfo {
	v := versionInfo{
		Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Prices: price.Published().Date.Format("2006-01-02"),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) print(w io.Writer) error {
	commit := ""
	if v.Commit != "" {
		commit = ", commit " + v.Commit
	}
	if v.Dirty {
		commit += " with changes"
	}
	_, err := fmt.Fprintf(w, "flotilla %s%s\n%s %s/%s\nprice table of %s\n", v.Version, commit, v.Go, v.OS, v.Arch, v.Prices)
	return err
}

// printJSON writes one value for programs to read.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
