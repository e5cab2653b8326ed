package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// apart refuses a --summary or --trace that is a file the run reads, its OUT,
// the other of the two, or its journal: it would be written over. It is asked
// before any of them is opened.
func (r *runner) apart(journal string) error {
	f := r.flags
	out := r.output()
	reads := slices.Concat(r.inputs, f.reuse, r.settings.Files)
	for _, text := range []string{f.prompt, f.system, f.params} {
		if name, ok := strings.CutPrefix(text, "@"); ok {
			reads = append(reads, name)
		}
	}
	for _, w := range []struct{ flag, path string }{{"--summary", f.summary}, {"--trace", f.trace}} {
		if w.path == "" {
			continue
		}
		if err := out.Apart(reads, w.flag, w.path); err != nil {
			return err
		}
		if slices.ContainsFunc(journalFiles(journal), func(name string) bool { return sameFile(name, w.path) }) {
			return withHint(fmt.Errorf("%s %s is of the journal", w.flag, w.path), "give "+w.flag+" another name")
		}
	}
	if f.summary != "" && f.trace != "" && sameFile(f.summary, f.trace) {
		return withHint(fmt.Errorf("--summary and --trace are both %s", f.trace), "give one of them another name")
	}
	return nil
}

// journalFiles are a journal's own files: SQLite keeps two beside the one that
// is named. None: there is no journal.
func journalFiles(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path, path + "-wal", path + "-shm"}
}

// sameFile says that two names lead to one file; devices are not files.
func sameFile(a, b string) bool {
	aInfo, aErr := os.Stat(a)
	bInfo, bErr := os.Stat(b)
	if aErr == nil && bErr == nil {
		return aInfo.Mode().IsRegular() && os.SameFile(aInfo, bInfo)
	}
	aPath, aErr := filepath.Abs(a)
	bPath, bErr := filepath.Abs(b)
	return aErr == nil && bErr == nil && aPath == bPath
}
