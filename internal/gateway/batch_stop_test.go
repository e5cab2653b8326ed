package gateway

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// billed is how many rows the emulator has answered by batch, and how many
// different bodies.
func (s *shop) billed() (rows, distinct int64) {
	s.t.Helper()
	h := s.direct("GET", "/emulator/stats", nil)
	h.get("orgs").ForEach(func(_, org gjson.Result) bool {
		rows += org.Get("batches.succeeded").Int()
		return true
	})
	return rows, h.get("distinct_bodies_succeeded").Int()
}

// A gateway that stops leaves its batches to the next, which goes on with them:
// nothing is lost and nothing is bought twice.
func TestStopAndGoOn(t *testing.T) {
	for _, after := range []time.Duration{0, 20 * time.Second, 100 * time.Second, 150 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, emulator.Options{})
				s.open()
				ids := []string{s.made("ann", prompts("a", 300)), s.made("bob", prompts("b", 200)), s.made("ann", prompts("c", 3))}
				time.Sleep(after)
				s.gateway.Drain()
				if r := s.ask("ann", "POST", batchesPath, strings.NewReader(prompts("d", 1))); r.status != 529 || r.header.Get("Retry-After") == "" {
					t.Errorf("a create while it stops: %s", said(r))
				}
				if r := s.ask("ann", "GET", batchesPath+"/"+ids[0], nil); r.status != 200 {
					t.Errorf("a poll while it stops: %s", said(r))
				}
				s.close()
				time.Sleep(time.Minute)
				s.open()
				defer s.close()
				for i, client := range []string{"ann", "bob", "ann"} {
					s.ended(client, ids[i])
					all := s.results(client, ids[i])
					for name, res := range all {
						if res.Get("type").Str != "succeeded" {
							t.Errorf("%s: %s", name, res.Raw)
						}
					}
					if want := []int{300, 200, 3}[i]; len(all) != want {
						t.Errorf("%s has %d results, want %d", ids[i], len(all), want)
					}
				}
				if rows, distinct := s.billed(); rows != 503 || distinct != 503 {
					t.Errorf("%d rows are billed, %d of different bodies; want 503", rows, distinct)
				}
			})
		})
	}
}

// A batch whose rows nobody answers ends a day after its creation, across a
// restart: they have expired.
func TestExpire(t *testing.T) {
	sc, err := emulator.Named("default")
	if err != nil {
		t.Fatal(err)
	}
	sc.Batches.Depth = emulator.Slowdown{Above: 1, Factor: 0} // nothing proceeds
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, emulator.Options{Scenario: sc})
				s.open()
				id := s.made("ann", prompts("x", 60))
				if closed {
					time.Sleep(time.Hour)
					s.close()
					time.Sleep(25 * time.Hour)
					s.open()
				}
				defer s.close()
				end := s.ended("ann", id)
				created, _ := time.Parse(time.RFC3339, end.get("created_at").Str)
				ended, _ := time.Parse(time.RFC3339, end.get("ended_at").Str)
				if took := ended.Sub(created); took < 24*time.Hour || !closed && took > 25*time.Hour {
					t.Errorf("it ended after %s", took)
				}
				if got := end.get("request_counts.expired").Int(); got != 60 || end.get("cancel_initiated_at").Type != gjson.Null {
					t.Errorf("it ended as %s", end.body)
				}
				for name, res := range s.results("ann", id) {
					if res.Raw != `{"type":"expired"}` {
						t.Errorf("%s: %s", name, res.Raw)
					}
				}
			})
		})
	}
}

// Results go 29 days after the creation; the batch stays.
func TestRetention(t *testing.T) {
	inShop(t, func(s *shop) {
		id := s.made("ann", prompts("x", 3))
		s.ended("ann", id)
		leaves(s, 1)
		time.Sleep(28 * 24 * time.Hour)
		if got := len(s.results("ann", id)); got != 3 {
			t.Errorf("after 28 days there are %d results", got)
		}
		time.Sleep(2 * 24 * time.Hour)
		r := s.ask("ann", "GET", batchesPath+"/"+id, nil)
		if r.get("archived_at").Type == gjson.Null || r.get("results_url").Type != gjson.Null || r.get("request_counts.succeeded").Int() != 3 {
			t.Errorf("after 30 days: %s", r.body)
		}
		if r = s.ask("ann", "GET", batchesPath+"/"+id+"/results", nil); r.status != 404 {
			t.Errorf("its results: %s", said(r))
		}
		leaves(s, 0)
	})
}

// What a create left that broke off is swept away, but not while it is written.
func TestLeftovers(t *testing.T) {
	inShop(t, func(s *shop) {
		b := s.gateway.own
		kept := s.made("ann", prompts("x", 3))
		left := filepath.Join(string(b.files), "msgbatch_left.rows.jsonl")
		if err := os.WriteFile(left, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		sp, err := b.files.create("msgbatch_written")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids, _ := b.files.ids()
		if want := fmt.Sprint([]string{kept, "msgbatch_written"}); len(ids) != 2 || fmt.Sprint(ids) != want && fmt.Sprint([]string{ids[1], ids[0]}) != want {
			t.Errorf("files are of %v, want %s", ids, want)
		}
		sp.release()
		if err := b.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		leaves(s, 1)
		s.ended("ann", kept)
	})
}

// Money that is spent for good ends a batch: what is left errors. A create for
// which there is none is refused.
func TestMoneySpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		var pot *flotilla.Pot
		s.fit = func(c *Config) {
			var err error
			if pot, err = c.Fleet.Pot(t.Context(), "a pot", flotilla.USD(0.02), 0); err != nil {
				t.Fatal(err)
			}
			c.Pots = []*flotilla.Pot{pot}
		}
		s.open()
		defer s.close()
		id := s.made("ann", prompts("x", 400))
		end := s.ended("ann", id)
		limit, spent, reserved, err := pot.State(t.Context())
		if err != nil || reserved != 0 || spent > limit {
			t.Errorf("%s of %s spent, %s reserved, %v", spent, limit, reserved, err)
		}
		succeeded, errored := 0, 0
		for name, res := range s.results("ann", id) {
			switch {
			case res.Get("type").Str == "succeeded":
				succeeded++
			case res.Get("error.error.type").Str == "billing_error":
				errored++
			default:
				t.Errorf("%s: %s", name, res.Raw)
			}
		}
		t.Logf("%d succeeded, %d errored, %s of %s spent; %s", succeeded, errored, spent, limit, end.get("request_counts").Raw)
		if succeeded == 0 || errored == 0 || succeeded+errored != 400 {
			t.Errorf("%d succeeded, %d errored", succeeded, errored)
		}
		pot.SetLimit(spent)
		r := s.ask("ann", "POST", batchesPath, strings.NewReader(prompts("y", 3)))
		if r.status != 429 || r.get("error.type").Str != "billing_error" || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("a create without money: %s", said(r))
		}
		leaves(s, 1)
	})
}

// Money of a day that is spent is waited for: what is left goes the next day.
func TestMoneyOfTheDaySpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		var pot *flotilla.Pot
		s.fit = func(c *Config) {
			var err error
			if pot, err = c.Fleet.Pot(t.Context(), "a pot", flotilla.USD(0.02), 0); err != nil {
				t.Fatal(err)
			}
			c.PotsOf = func(context.Context, Caller) ([]*flotilla.Pot, error) { return []*flotilla.Pot{pot}, nil }
		}
		s.open()
		defer s.close()
		id := s.made("ann", prompts("x", 400))
		time.Sleep(6 * time.Hour)
		if r := s.ask("ann", "GET", batchesPath+"/"+id, nil); r.get("processing_status").Str != "in_progress" {
			t.Errorf("without money it is %s", r.body)
		}
		if rows, _ := s.billed(); rows == 0 || rows == 400 {
			t.Errorf("%d rows are answered", rows)
		}
		pot.SetLimit(flotilla.USD(1)) // midnight
		if end := s.ended("ann", id); end.get("request_counts.succeeded").Int() != 400 {
			t.Errorf("it ended as %s", end.body)
		}
	})
}

// Rows in a batch of an org whose key is gone are waited for as long as the batch
// lives, and have expired then; the others are answered.
func TestKeyGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		id := s.made("ann", prompts("x", 300))
		time.Sleep(20 * time.Second)
		s.close()
		s.fleets = func(c *flotilla.Config) { c.Orgs = c.Orgs[:1] }
		s.open()
		defer s.close()
		end := s.ended("ann", id)
		succeeded, expired := end.get("request_counts.succeeded").Int(), end.get("request_counts.expired").Int()
		if succeeded == 0 || expired == 0 || succeeded+expired != 300 {
			t.Errorf("it ended as %s", end.body)
		}
		if got := len(s.results("ann", id)); got != 300 {
			t.Errorf("%d results", got)
		}
	})
}
