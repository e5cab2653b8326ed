package journal

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writeV1 makes a journal as schema version 1 left it, with a job that a dead
// process had: one row settled, one intent open.
func writeV1(t *testing.T, path string) {
	t.Helper()
	if err := prepare(path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	identity := make([]byte, 32)
	copy(identity, "a")
	for _, step := range []struct {
		query string
		args  []any
	}{
		{query: v1},
		{query: fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID)},
		{query: "INSERT INTO proc(pid, host, boot, space, start, opened, seen) VALUES (1, 'gone', 'boot', '', 1, 1, 1)"},
		{query: `INSERT INTO job(key, identity, provider, emulated, command, inputs, n, created, state, first_attempt, first_outcome)
			VALUES ('6100', ?, 'https://api.anthropic.com:443', '', 'flotilla run a', '["a"]', 2, 1, 'running', 0, 0)`, args: []any{identity}},
		{query: "INSERT INTO word(text) VALUES ('https://api.anthropic.com:443 '), (''), ('end_turn')"},
		{query: "INSERT INTO lane(org, pool, tier, model) VALUES ('high', 'sonnet-4', 'sync', 'claude-sonnet-4-6')"},
		{query: "INSERT INTO run(job, proc, realm, opened, low_intent, low_attempt, low_outcome) VALUES (1, 1, 1, 1, 0, 0, 0)"},
		{query: "INSERT INTO intent(run, row, attempt, lane, at, worst) VALUES (1, 0, 1, 1, 1, 500), (1, 1, 2, 1, 1, 500)"},
		{query: `INSERT INTO outcome(id, job, run, row, attempt, lane, at, day, charged, cost, doubt, type, status, tries, latency, stop, mark, hash, nth, cached, answer)
			VALUES (1, 1, 1, 0, 1, 1, 1, 20261130, 200, 200, 0, 1, 0, 1, 1, 3, 2, ?, 0, 0, 1)`, args: []any{make([]byte, 16)}},
		{query: `INSERT INTO answer(id, body) VALUES (1, '{"id":"msg_0_1"}')`},
		{query: "INSERT INTO spend(run, day, spent, open) VALUES (1, 20261130, 200, 500)"},
	} {
		if _, err := db.Exec(step.query, step.args...); err != nil {
			t.Fatalf("%s: %v", step.query, err)
		}
	}
}

func TestMigrateFromV1(t *testing.T) {
	path := filepath.Join(t.TempDir(), dirName, fileName)
	writeV1(t, path)
	for range 2 { // what was brought forward opens again
		j, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		spec := JobSpec{Provider: "https://api.anthropic.com:443", N: 2}
		spec.Identity[0] = 'a'
		job, err := j.Begin(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		st, err := job.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if job.Key != "6100" || st.Outcome(0) != Succeeded || st.Outcome(1) != Pending || !st.InDoubt(1) || st.Spent != 700 || st.Doubt != 500 {
			t.Errorf("job %s with %v, %v spent, %v in doubt", job.Key, st.Counts, st.Spent, st.Doubt)
		}
		for a, err := range job.Answers(t.Context(), 0) {
			if err != nil || string(a.Body) != `{"id":"msg_0_1"}` || a.StopReason != "end_turn" {
				t.Errorf("answer %+v, %v", a, err)
			}
		}
		if err := j.Signal(t.Context(), job.ID, Pause); err != nil { // a column of version 2
			t.Error(err)
		}
		open, err := job.Batches(t.Context()) // a table of version 3
		if err != nil || len(open) != 0 || st.Held != 0 {
			t.Errorf("open batches %+v, %v held, %v", open, st.Held, err)
		}
		if info, err := j.Find(t.Context(), job.Key); err != nil || info.Kind != KindRun || info.Cap != nil || info.Shape != nil { // columns of version 4
			t.Errorf("%+v, %v", info, err)
		}
		if all, err := j.Clients(t.Context()); err != nil || len(all) != 0 { // a table of it
			t.Errorf("%d clients, %v", len(all), err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A migrated journal and a new one have the same schema.
func TestMigrationsEndAlike(t *testing.T) {
	old, fresh := filepath.Join(t.TempDir(), fileName), filepath.Join(t.TempDir(), fileName)
	writeV1(t, old)
	if a, b := schemaOf(t, old), schemaOf(t, fresh); a != b {
		t.Errorf("migrated:\n%s\nnew:\n%s", a, b)
	}
}

func schemaOf(t *testing.T, path string) (schema string) {
	t.Helper()
	j, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.r.one([]any{&schema}, "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)"); err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestNewerSchemaIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileName)
	schemaOf(t, path)
	alter(t, path, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)+3))
	before := read(t, path)
	_, err := Open(t.Context(), path, Options{})
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Found != len(migrations)+3 || newer.Known != len(migrations) {
		t.Errorf("open: %v", err)
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the file was changed")
	}
}

func TestForeignDatabaseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.db")
	if err := prepare(path); err != nil {
		t.Fatal(err)
	}
	alter(t, path, "CREATE TABLE bookmarks(url TEXT)")
	before := read(t, path)
	_, err := Open(t.Context(), path, Options{})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || !errors.Is(err, errForeign) {
		t.Errorf("open: %v", err)
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the file was changed")
	}
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	whole := filepath.Join(t.TempDir(), fileName)
	schemaOf(t, whole)
	for name, damage := range map[string]func([]byte) []byte{
		"not a database": func([]byte) []byte { return bytes.Repeat([]byte("custom_id,prompt\n"), 500) },
		"schema page":    func(b []byte) []byte { copy(b[100:4000], bytes.Repeat([]byte{0xee}, 3900)); return b },
	} {
		path := filepath.Join(t.TempDir(), fileName)
		content := damage(read(t, whole))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), path, Options{})
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != path {
			t.Errorf("%s: open: %v", name, err)
		}
		if !bytes.Equal(content, read(t, path)) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func alter(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
