package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The whole command on few rows: it measures, then carries them on virtual time and over HTTP, where the program
// is interrupted, killed and capped. Nothing may be lost, doubled or over a cap.
func TestQuick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var said bytes.Buffer
	if code := Run(context.Background(), []string{"-quick", "-out", dir}, &said); code != 0 {
		t.Fatalf("code %d\n%s", code, said.String())
	}
	tb, err := readTable(filepath.Join(dir, dataName))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c-fast", "c-fast-killed", "c-sync-cap", "c-fast-p", "d1", "d2"} {
		a := tb.find(id, overHTTP)
		if a == nil {
			t.Errorf("no arm %s over HTTP", id)
			continue
		}
		if a.Succeeded+a.Pending+a.Lost != a.Rows {
			t.Errorf("%s: %d succeeded, %d pending, %d lost of %d", id, a.Succeeded, a.Pending, a.Lost, a.Rows)
		}
		if a.promised() && a.Statuses["scored"] != a.Succeeded {
			t.Errorf("%s: %v of %d", id, a.Statuses, a.Succeeded)
		}
	}
	if a := tb.find("c-sync-cap", overHTTP); a.Pending == 0 || a.Billed > a.Cap {
		t.Errorf("the cap of %v: %v billed, %d rows pending", a.Cap, a.Billed, a.Pending)
	}
	if a := tb.find("d2", overHTTP); a.Refused == 0 {
		t.Error("no storm")
	}
}

// Virtual time says the same twice, given the profile.
func TestVirtualTimeRepeats(t *testing.T) {
	t.Parallel()
	var pages [2]string
	for i := range pages {
		dir := t.TempDir()
		if code := Run(context.Background(), []string{"-quick", "-virtual", "-profile", "testdata/profile.json", "-out", dir}, new(bytes.Buffer)); code != 0 {
			t.Fatalf("code %d", code)
		}
		page, err := os.ReadFile(filepath.Join(dir, dataName))
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(page)
	}
	if diff := cmp.Diff(pages[0], pages[1]); diff != "" {
		t.Error(diff)
	}
}

func TestFlags(t *testing.T) {
	var said bytes.Buffer
	for args, want := range map[string]int{"-help": 0, "-speed=21": 1, "-nonsense": 1, "-page": 1} {
		if got := Run(context.Background(), []string{args, "-out=" + fmt.Sprint(t.TempDir())}, &said); got != want {
			t.Errorf("%s: code %d, want %d", args, got, want)
		}
	}
}
