package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// pointerMark ends the one line of a file that is ours. It is a comment in
// Markdown, and tells the line from all others.
const pointerMark = "<!-- flotilla:pointer -->"

// keepPointer keeps one marked line in a file that leads to the guidelines: it is
// put at the end, or in the place of the one that is there. All else is left as
// it is, byte for byte.
func keepPointer(path, guidelines string, p *lab.Profile) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one, and its relative links count from where the text is
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--pointer: %w", err)
	}
	to, err := linkFrom(path, guidelines)
	if err != nil {
		return fmt.Errorf("--pointer %s: %w", path, err)
	}
	line := fmt.Sprintf("Before sending many Claude calls, read [the throughput guidelines](%s) (measured %s%s). %s", to, day(p.Measured), ofWhom(p), pointerMark)
	next := withPointer(text, line)
	if bytes.Equal(next, text) {
		return nil
	}
	return rewriteFile(path, next)
}

// rewriteFile is replaceFile for a file of somebody else's: its permissions stay,
// and one that nobody may write to is left alone.
func rewriteFile(path string, data []byte) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return replaceFile(path, data)
	}
	if err != nil {
		return fmt.Errorf("--pointer: %w", err)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return withHint(fmt.Errorf("--pointer: %s is read-only", path), "everything else was written; chmod u+w "+path+" lets it be kept")
	}
	if err := replaceFile(path, data); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm())
}

func ofWhom(p *lab.Profile) string {
	if p.Emulated == "" {
		return ""
	}
	return " of an emulator, " + p.Emulated + ": decide nothing by them"
}

// withPointer puts the line into a text, once.
func withPointer(text []byte, line string) []byte {
	var out strings.Builder
	placed := false
	for l := range strings.Lines(string(text)) {
		body := strings.TrimRight(l, "\r\n")
		if !strings.HasSuffix(body, pointerMark) {
			out.WriteString(l)
			continue
		}
		if !placed {
			out.WriteString(line + l[len(body):])
			placed = true
		}
	}
	if placed {
		return []byte(out.String())
	}
	if s := out.String(); s != "" && !strings.HasSuffix(s, "\n") {
		out.WriteString("\n")
	}
	out.WriteString(line + "\n")
	return []byte(out.String())
}
