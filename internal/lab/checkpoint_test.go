package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// Two processes would write over each other and pay twice: the second is told.
func TestPartialIsOfOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.partial.jsonl")
	h := head{Experiment: "x", BaseURL: "http://a"}
	p, _, err := openPartial(path, h)
	if err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if _, _, err := openPartial(path, h); !errors.As(err, &refused) || refused.Hint == "" {
		t.Errorf("a second one has it too: %v", err)
	}
	_ = p.file.Close()
	if p, _, err = openPartial(path, h); err != nil {
		t.Fatalf("it is held by nobody: %v", err)
	}
	_ = p.file.Close()
}

// What cannot be read says what to do, and is left as it is.
func TestPartialThatIsBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.partial.jsonl")
	const text = "{\"head\":{\"experiment\":\"x\",\"base_url\":\"http://a\"}}\n{\"x\":garbage\n{\"step\":\"a\",\"v\":1}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	_, _, err := openPartial(path, head{Experiment: "x", BaseURL: "http://a"})
	if !errors.As(err, &refused) || refused.Hint == "" || refused.Experiment != "x" {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("%q, %v", data, err)
	}
}

// Every partial file that is moved aside is kept: it knows of batches.
func TestPartialsMovedAsideAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.partial.jsonl")
	names := map[string]bool{}
	for seed := range uint64(4) {
		p, moved, err := openPartial(path, head{Experiment: "x", Seed: seed + 1, BaseURL: "http://a"})
		if err != nil {
			t.Fatal(err)
		}
		_ = p.file.Close()
		names[moved] = true
	}
	for name := range names {
		if _, err := os.Stat(name); name != "" && err != nil {
			t.Error(err)
		}
	}
	if len(names) != 4 {
		t.Errorf("moved to %v", names)
	}
}

// A batch that was made and never settled may be billed: the bill says so.
func TestUnsettledBatchIsInDoubt(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		b := bench(t, env)
		row := func(i int) Shot {
			return Shot{Org: "low", Model: "claude-haiku-4-5", Shape: Shape{In: 30, Out: 4, MaxTokens: 4}, Salt: uint64(i + 1)}
		}
		if _, err := b.CreateBatch(t.Context(), "a", "low", 100, row); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"made", "read back"} {
			bill := b.bill(b.Records())
			if bill.Total != 0 || bill.InDoubt == 0 || bill.InDoubt != b.purse.reserved {
				t.Errorf("%s: %s, %s in doubt of %s", when, bill.Total, bill.InDoubt, b.purse.reserved)
			}
			b.close() // as a kill would
			b = bench(t, env)
		}
	})
}
