package journaltest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func clients(t *testing.T, b Book) {
	ada := journal.Client{Name: "ada", KeyHash: [32]byte{1}, MaxPerDay: 5, Priority: "interactive", Weight: 2.5, Created: Noon}
	if err := b.AddClient(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]journal.Client{
		"her name again": {Name: "ada", KeyHash: [32]byte{2}}, "her key again": {Name: "bob", KeyHash: [32]byte{1}},
	} {
		if err := b.AddClient(t.Context(), c); !errors.Is(err, journal.ErrClientExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none *journal.NoClientError
	if err := b.RevokeClient(t.Context(), "bob"); !errors.As(err, &none) || none.Name != "bob" {
		t.Errorf("revoked nobody: %v", err)
	}
	if err := b.RevokeClient(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if err := b.RevokeClient(t.Context(), "ada"); !errors.As(err, &none) {
		t.Errorf("revoked twice: %v", err)
	}
	if err := b.AddClient(t.Context(), ada); !errors.Is(err, journal.ErrClientExists) {
		t.Errorf("a revoked key came back: %v", err)
	}
	// Her name may come again, with another key.
	again := journal.Client{Name: "ada", KeyHash: [32]byte{3}, Priority: "bulk"}
	if err := b.AddClient(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	list, err := b.Clients(t.Context())
	if err != nil || len(list) != 2 || list[0].Revoked.IsZero() || list[1].Created.IsZero() || !list[1].Revoked.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	list[0].Revoked, list[1].Created = time.Time{}, time.Time{}
	if diff := cmp.Diff([]journal.Client{ada, again}, list); diff != "" {
		t.Error(diff)
	}
}

func clientBatches(t *testing.T, b Book) {
	one := journal.ClientBatch{
		ID: "msgbatch_1", Client: "ada", Realm: journal.Realm{Provider: "http://here:80", Emulated: "default/1"}, Spool: "/spool/1.jsonl", N: 3,
		Created: Noon, Expires: Noon.Add(24 * time.Hour), Prefer: "fast", Priority: "bulk", Weight: 0.5, Deadline: Noon.Add(time.Hour),
		Version: "2023-06-01", Betas: []string{"b", "a"},
	}
	put := func(c journal.ClientBatch) {
		t.Helper()
		if err := b.PutClientBatch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	put(one)
	put(journal.ClientBatch{ID: "msgbatch_2", Client: "bob"})
	put(journal.ClientBatch{ID: "msgbatch_3", Client: "ada"})
	one.Job, one.Ended, one.CancelInitiated = 7, Noon.Add(time.Hour), Noon.Add(time.Minute)
	one.Counts = journal.BatchCounts{Succeeded: 1, Errored: 2, Canceled: 3, Expired: 4}
	put(one) // what is kept of an ID is replaced, and stays where it was
	got, found, err := b.ClientBatch(t.Context(), one.ID)
	if diff := cmp.Diff(one, got); diff != "" || !found || err != nil {
		t.Errorf("%v %v\n%s", found, err, diff)
	}
	if _, found, err := b.ClientBatch(t.Context(), "msgbatch_9"); found || err != nil {
		t.Errorf("a batch that never was: %v, %v", found, err)
	}
	for client, want := range map[string][]string{"": {"msgbatch_3", "msgbatch_2", "msgbatch_1"}, "ada": {"msgbatch_3", "msgbatch_1"}, "eve": nil} {
		list, err := b.ClientBatches(t.Context(), client)
		var ids []string
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" || err != nil {
			t.Errorf("of %q: %v\n%s", client, err, diff)
		}
	}
}

// clientBatchChanges: what others have changed stands, and no change is lost.
func clientBatchChanges(t *testing.T, b Book) {
	one := journal.ClientBatch{ID: "msgbatch_1", Client: "ada", N: 3, CancelInitiated: Noon}
	if err := b.PutClientBatch(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	got, err := b.ChangeClientBatch(t.Context(), one.ID, func(c *journal.ClientBatch) bool {
		c.Ended, c.Counts.Canceled = Noon.Add(time.Hour), 3
		return true
	})
	one.Ended, one.Counts.Canceled = Noon.Add(time.Hour), 3
	if diff := cmp.Diff(one, got); diff != "" || err != nil {
		t.Errorf("changed: %v\n%s", err, diff)
	}
	got, err = b.ChangeClientBatch(t.Context(), one.ID, func(c *journal.ClientBatch) bool {
		c.N = 4
		return false
	})
	if got.N != 4 || err != nil {
		t.Errorf("left alone: %+v, %v", got, err)
	}
	if got, _, err := b.ClientBatch(t.Context(), one.ID); err != nil || !cmp.Equal(one, got) {
		t.Errorf("it is kept as\n%s, %v", cmp.Diff(one, got), err)
	}
	if _, err := b.ChangeClientBatch(t.Context(), "msgbatch_9", func(*journal.ClientBatch) bool { return true }); !errors.Is(err, journal.ErrNoBatch) {
		t.Errorf("a batch that never was: %v", err)
	}
	const each = 50
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range each {
				_, err := b.ChangeClientBatch(t.Context(), one.ID, func(c *journal.ClientBatch) bool {
					c.Counts.Succeeded++
					return true
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if got, _, err := b.ClientBatch(t.Context(), one.ID); got.Counts.Succeeded != 4*each || err != nil {
		t.Errorf("%d changes of %d are kept, %v", got.Counts.Succeeded, 4*each, err)
	}
}

// clientBatchKeepsJob: the job of a batch that a client may ask for stays.
func clientBatchKeepsJob(t *testing.T, b Book) {
	far := time.Now().AddDate(100, 0, 0)
	for name, gone := range map[string]func(*journal.ClientBatch){
		"deleted":  func(c *journal.ClientBatch) { c.Deleted = Noon },
		"archived": func(c *journal.ClientBatch) { c.Archived = Noon },
		"given up": nil,
	} {
		spec := Spec(name, 1)
		spec.Kind, spec.Client = journal.KindBatch, "ada"
		job := begin(t, b, spec)
		end(t, job, journal.Finished)
		c := journal.ClientBatch{ID: "msgbatch_" + name, Client: "ada", Job: job.Number()}
		if err := b.PutClientBatch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		var live *journal.ClientBatchError
		if err := b.Remove(t.Context(), job.Number()); !errors.As(err, &live) || live.Batch != c.ID || live.Client != "ada" || live.Job != job.Name() {
			t.Errorf("%s: removed with %v", name, err)
		}
		if n, err := b.Prune(t.Context(), far); n != 0 || err != nil {
			t.Errorf("%s: pruned %d, %v", name, n, err)
		}
		remove := b.Abandon
		if gone != nil {
			gone(&c)
			remove = b.Remove
			if err := b.PutClientBatch(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if err := remove(t.Context(), job.Number()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _, err := b.ClientBatch(t.Context(), c.ID); err != nil || gone == nil && got.Archived.IsZero() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// caps: what a person says while a job runs reaches its holder.
func caps(t *testing.T, b Book) {
	for kind, stays := range map[string]bool{journal.KindRun: false, journal.KindBatch: true, journal.KindServe: true} {
		spec := Spec("a "+kind, 1)
		spec.Kind = kind
		job := begin(t, b, spec)
		given := func(job Job, want flotilla.Money, set bool) {
			t.Helper()
			if limit, given, err := job.Cap(t.Context()); limit != want || given != set || err != nil {
				t.Errorf("%s: cap %v, given %v, %v; want %v, %v", kind, limit, given, err, want, set)
			}
		}
		given(job, 0, false)
		for _, limit := range []flotilla.Money{5_000_000_000, -1, 0, 7} {
			if err := b.SetCap(t.Context(), job.Number(), limit); err != nil {
				t.Fatal(err)
			}
			given(job, limit, true)
		}
		info, err := b.Find(t.Context(), job.Name())
		if err != nil || info.Cap == nil || *info.Cap != 7 {
			t.Errorf("%s: %+v, %v", kind, info, err)
		}
		end(t, job, journal.Stopped)
		again := begin(t, b, spec)
		if stays {
			given(again, 7, true)
		} else {
			given(again, 0, false)
		}
	}
	if err := b.SetCap(t.Context(), 4711, 5); err == nil {
		t.Error("a job that is not there was capped")
	}
}

// shapes: what makes a job's rows again is kept, and a Begin that knows nothing
// of it, or of whose job it is, takes nothing away.
func shapes(t *testing.T, b Book) {
	spec := Spec("a", 1)
	spec.Kind, spec.Client, spec.Shape = journal.KindBatch, "ada", []byte(`{"format":1}`)
	job := begin(t, b, spec)
	end(t, job, journal.Stopped)
	begin(t, b, Spec("a", 1))
	info, err := b.Find(t.Context(), job.Name())
	if err != nil || string(info.Shape) != `{"format":1}` || info.Client != "ada" || info.Kind != journal.KindBatch {
		t.Errorf("%+v, %v", info, err)
	}
}

// successes are found again by hash and count, the newest last.
func successes(t *testing.T, b Book) {
	spec := serving("a", "ada")
	job := begin(t, b, spec)
	id := job.Number()
	bare := Drawn(id, 1, 3, 10, 1)
	bare.Answer = nil
	failed := Settled(id, 4, 5, "errored", 0)
	failed.Block, failed.Worst = 1, 10
	again := Drawn(id, 1, 5, 10, 1)
	again.Hash = Hash(0)
	second := Drawn(id, 1, 6, 10, 1)
	second.Hash, second.Nth = Hash(0), 1
	add(t, b, Reserved(id, 1, 1000), Drawn(id, 1, 0, 10, 1), Drawn(id, 1, 1, 10, 1), bare, failed, again, second)
	type key struct {
		hash [16]byte
		nth  int
	}
	found := map[key]int64{}
	realm := journal.Realm{Provider: spec.Provider}
	for s, err := range b.Successes(t.Context(), realm) {
		if err != nil {
			t.Fatal(err)
		}
		found[key{s.Hash, s.Nth}] = s.ID
	}
	rows := map[key]int{}
	for k, at := range found {
		a, err := b.Answer(t.Context(), at)
		if err != nil || len(a.Body) == 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		rows[k] = a.Row
	}
	if diff := cmp.Diff(map[key]int{{Hash(0), 0}: 5, {Hash(0), 1}: 6, {Hash(1), 0}: 1}, rows, cmp.AllowUnexported(key{})); diff != "" {
		t.Error(diff)
	}
	for _, other := range []journal.Realm{{Provider: "http://elsewhere:80"}, {Provider: spec.Provider, Emulated: "default/1"}} {
		for s, err := range b.Successes(t.Context(), other) {
			t.Errorf("%v has %+v, %v", other, s, err)
		}
	}
}

// rowsListed: a list has all of an answer but its body.
func rowsListed(t *testing.T, b Book) {
	spec := Spec("a", 5)
	job := begin(t, b, spec)
	id := job.Number()
	foreign := Settled(id, 3, 4, "succeeded", 5)
	foreign.Emulated = "default/1"
	dubious := Settled(id, 1, 2, "errored", 5)
	dubious.InDoubt, dubious.Attempts, dubious.Status = true, 300, 529
	add(t, b, Settled(id, 0, 1, "errored", 0), dubious, foreign, Settled(id, 0, 3, "succeeded", 77))
	end(t, job, journal.Stopped)
	other := begin(t, b, Spec("b", 2))
	add(t, b, Settled(other.Number(), 0, 1, "succeeded", 1))
	st := state(t, begin(t, b, spec))

	var got []journal.Row
	for r, err := range b.Rows(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	var want []journal.Row
	for _, a := range answersOf(t, b, id) {
		if a.Emulated != "" {
			continue // of another provenance
		}
		want = append(want, journal.Row{
			ID: a.ID, Row: a.Row, Type: a.Type, StopReason: a.StopReason, Org: a.Org, Pool: a.Pool, Tier: a.Tier, Model: a.Model, At: a.At, Cost: a.Cost,
			Attempts: min(a.Attempts, 255), Latency: a.Latency, Status: a.Status, Cached: a.Cached, InDoubt: a.Row == 1, Kept: len(a.Body) > 0,
		})
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3 {
		t.Error(diff)
	}
	last := got[len(got)-1]
	if st.At(0) != last.ID {
		t.Errorf("of row 0 stands %d, the list ends with %d", st.At(0), last.ID)
	}
	if newest, err := b.Newest(t.Context()); err != nil || newest <= last.ID {
		t.Errorf("the newest is %d, %v; another job settled after %d", newest, err, last.ID)
	}
	for r, err := range b.Rows(t.Context(), id, last.ID) {
		t.Errorf("after the last comes %+v, %v", r, err)
	}
}

func answersOf(t testing.TB, b Book, job int64) (all []journal.Answer) {
	t.Helper()
	for a, err := range b.AnswersOf(t.Context(), job, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}
