package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// rowMessage is a Message whose text is as given, a JSON string's inside.
func rowMessage(text string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + text +
		`"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7,"service_tier":"batch"}}`
}

func succeededLine(id, text string) string {
	return fmt.Sprintf(`{"custom_id":%q,"result":{"type":"succeeded","message":%s}}`, id, rowMessage(text))
}

// readResults reads to the end; lines that cannot be read are counted.
func readResults(r io.Reader) (rows []ResultLine, bad []int, err error) {
	results := NewResultReader(r)
	for {
		row, err := results.Next()
		var line *ResultLineError
		switch {
		case errors.As(err, &line):
			bad = append(bad, line.Number)
		case errors.Is(err, io.EOF):
			return rows, bad, nil
		case err != nil:
			return rows, bad, err
		default:
			row.Message, row.Envelope = bytes.Clone(row.Message), bytes.Clone(row.Envelope)
			rows = append(rows, row)
		}
	}
}

const sampleResults = `{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error",` +
	`"message":"messages: Field required","details":{"error_visibility":"user_facing"}},"request_id":null}}}` + "\n" +
	"\n  \r\n" +
	`{"custom_id":"b","result":{"type":"canceled"},"tomorrow":[{"custom_id":"x"}]}` + "\r\n" +
	`{"result":{"message":null,"type":"expired"},"custom_id":"\u0063"}` + "\n" +
	`{"custom_id":"d","result":{"type":"postponed"}}` + "\n" +
	`{"custom_id":"e","result":{"type":"succeeded","message":{"id":"msg_1"}}}` + "\n" +
	`{"custom_id":"f","result":null}` + "\n"

func TestResultReader(t *testing.T) {
	in := sampleResults + succeededLine("g", "A") // without a line feed, but whole
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		rows, bad, err := readResults(r)
		if err != nil || len(bad) > 0 {
			t.Fatalf("%s: %v, bad lines %v", name, err, bad)
		}
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprintf("%d %s %s", row.Number, row.ID, row.Type))
		}
		want := []string{"1 a errored", "4 b canceled", "5 c expired", "6 d missing", "7 e missing", "8 f missing", "9 g succeeded"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if r := rows[0].Refusal; r.Class != Invalid || r.Type != "invalid_request_error" || r.Message != "messages: Field required" || RetryableRow(&r) {
			t.Errorf("%s: %+v", name, r)
		}
		if m := rows[6]; string(m.Message) != rowMessage("A") || m.Facts.Usage != (Usage{Input: 5, Output: 7}) || m.Facts.ServiceTier != "batch" {
			t.Errorf("%s: %s %+v", name, m.Message, m.Facts)
		}
		for i, words := range map[int]string{3: `"postponed"`, 4: "its type", 5: `""`} {
			if !strings.Contains(rows[i].Fault, words) {
				t.Errorf("%s: %s: fault %q, want %s in it", name, rows[i].ID, rows[i].Fault, words)
			}
		}
	}
}

// Rows of 5 and 20 MiB come whole (peer faults 15 and 22: readers with a line
// limit ended the stream there, without an error); one over 32 MiB is an error
// that names it.
func TestResultReaderLongLines(t *testing.T) {
	long := func(mib int) string { return strings.Repeat("abcdefgh", mib<<17) }
	in := succeededLine("five", long(5)) + "\n" + succeededLine("s", "A") + "\n" + succeededLine("twenty", long(20)) + "\n" + succeededLine("t", "B") + "\n"
	rows, bad, err := readResults(strings.NewReader(in))
	if err != nil || len(bad) > 0 || len(rows) != 4 {
		t.Fatalf("%d rows, bad %v, %v", len(rows), bad, err)
	}
	for i, want := range []struct {
		id   string
		size int
	}{{"five", 5 << 20}, {"s", 1}, {"twenty", 20 << 20}, {"t", 1}} {
		if rows[i].ID != want.id || len(rows[i].Message) != len(rowMessage(""))+want.size {
			t.Errorf("row %s: %d bytes", rows[i].ID, len(rows[i].Message))
		}
	}
	_, _, err = readResults(strings.NewReader("\n" + succeededLine("x", long(33)) + "\n"))
	var over *LongLineError
	if !errors.As(err, &over) || over.Number != 2 {
		t.Errorf("a line of 33 MiB: %v", err)
	}
}

// A stream cut anywhere inside a line says so; cut exactly at the end of one it
// looks like an end, and the rows that are not there are for the caller to
// miss. It never gives a row that was not there, nor one twice.
func TestResultReaderTruncation(t *testing.T) {
	lines := []string{succeededLine("a", "1"), `{"custom_id":"b","result":{"type":"expired"}}`, succeededLine("c", "3")}
	in := strings.Join(lines, "\n") + "\n"
	ends := map[int]int{} // offsets at which a line is whole, with or without its line feed → rows
	at := 0
	for i, l := range lines {
		at += len(l)
		ends[at], ends[at+1] = i+1, i+1
		at++
	}
	ends[0] = 0
	for cut := 0; cut <= len(in); cut++ {
		rows, bad, err := readResults(strings.NewReader(in[:cut]))
		n, whole := ends[cut]
		if whole && (err != nil || len(rows) != n) || !whole && !errors.Is(err, io.ErrUnexpectedEOF) || len(bad) > 0 {
			t.Fatalf("cut at %d (%q): %d rows, bad %v, %v", cut, in[max(0, cut-20):cut], len(rows), bad, err)
		}
	}
	_, _, err := readResults(io.MultiReader(strings.NewReader(in[:len(in)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a connection that broke: %v", err)
	}
}

// A raw U+2028, U+2029 or NEL in a string is content (peer fault 21).
func TestResultReaderLineSeparators(t *testing.T) {
	text := "one\u2028two\u2029three\u0085four"
	rows, bad, err := readResults(strings.NewReader(succeededLine("a", text) + "\n" + succeededLine("b", "x") + "\n"))
	if err != nil || len(bad) > 0 || len(rows) != 2 || string(rows[0].Message) != rowMessage(text) {
		t.Errorf("%d rows, bad %v, %v", len(rows), bad, err)
	}
}

// A line that cannot be read is named, and the others are read all the same.
func TestResultReaderBadLines(t *testing.T) {
	in := strings.Join([]string{
		succeededLine("a", "A"), "nonsense", `["custom_id"]`, `{"result":{"type":"canceled"}}`, `{"custom_id":7,"result":{}}`,
		`{"custom_id":"b"`, succeededLine("c", "C"), "",
	}, "\n")
	rows, bad, err := readResults(strings.NewReader(in))
	if d := cmp.Diff([]int{2, 3, 4, 5, 6}, bad); err != nil || d != "" || len(rows) != 2 || rows[1].ID != "c" {
		t.Errorf("%d rows, %v\n%s", len(rows), err, d)
	}
}

// Three chunks with shuffled results: every answer comes to its own row (peer
// fault 29: answers tied by position were cached under other prompts).
func TestResultsAreTiedByID(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for chunk := range 3 {
		var lines []string
		for i := range 50 {
			row := chunk*50 + i
			id := string(AppendRowID(nil, RowID{"2e08", int64(1000 + chunk), row}))
			lines = append(lines, succeededLine(id, fmt.Sprintf("answer %d", row)))
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		rows, bad, err := readResults(strings.NewReader(strings.Join(lines, "\n") + "\n"))
		if err != nil || len(bad) > 0 || len(rows) != 50 {
			t.Fatalf("%d rows, bad %v, %v", len(rows), bad, err)
		}
		seen := map[int]bool{}
		for _, r := range rows {
			id, ok := ParseRowID(r.ID)
			if !ok || id.Intent != int64(1000+chunk) || seen[id.Row] || string(r.Message) != rowMessage(fmt.Sprintf("answer %d", id.Row)) {
				t.Errorf("%s carries %s", r.ID, r.Message)
			}
			seen[id.Row] = true
		}
	}
}

// A carriage return between tokens does not get into what is kept as one line.
func TestResultReaderOneLine(t *testing.T) {
	rows, _, err := readResults(strings.NewReader(strings.Replace(succeededLine("a", "A"), `"role"`, "\r \"role\"", 1) + "\n"))
	if err != nil || len(rows) != 1 || bytes.ContainsRune(rows[0].Message, '\r') || !json.Valid(rows[0].Message) {
		t.Errorf("%+v (%v)", rows, err)
	}
}

// Which rows may go again (facts/claude-api.md 4.4), and the envelope as it is
// kept.
func TestErroredRows(t *testing.T) {
	for _, c := range []struct {
		failure string // the value of result.error
		again   bool
		class   Class
	}{
		{`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 0"}}`, false, Invalid},
		{`{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, false, NoModel},
		{`{"type":"error","error":{"type":"request_too_large","message":"m"}}`, false, Invalid},
		{`{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"workerreq_1"}`, true, ServerError},
		{`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, true, Overloaded},
		{`{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`, true, RateLimited},
		{`{"type":"error","error":{"type":"timeout_error","message":"m"}}`, true, Unknown504},
		{`{"type":"error","error":{"type":"error_of_tomorrow","message":"m"}}`, true, ServerError},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, true, Credit},
		{`{"type":"overloaded_error","message":"m"}`, true, Overloaded}, // without its outer level
		{`"something"`, true, ServerError},
		{`null`, true, ServerError},
	} {
		rows, _, err := readResults(strings.NewReader(`{"custom_id":"a","result":{"type":"errored","error":` + c.failure + "}}\n"))
		if err != nil || len(rows) != 1 {
			t.Fatal(c.failure, err)
		}
		r := rows[0]
		if RetryableRow(&r.Refusal) != c.again || r.Refusal.Class != c.class {
			t.Errorf("%s: %s, again %v", c.failure, r.Refusal.Class, !c.again)
		}
		var envelope struct{ Error any }
		if err := json.Unmarshal(r.Envelope, &envelope); err != nil || (envelope.Error == nil) != (c.failure == "null") {
			t.Errorf("%s is kept as %s (%v)", c.failure, r.Envelope, err)
		}
	}
}

func FuzzResultReader(f *testing.F) {
	f.Add([]byte(sampleResults), uint8(0))
	f.Add([]byte(succeededLine("a", "x")+"\n"+succeededLine("b", "\u2028")), uint8(3))
	f.Add([]byte(succeededLine("a", "x")[:80]), uint8(1))
	f.Add([]byte("{\"custom_id\":\"a\",\"result\":{\"type\":\"errored\",\"error\":[]}}\nnull\n{}\n\xef\xbb\xbf"), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		rows, bad, err := readResults(bytes.NewReader(in))
		pieces, badPieces, errPieces := readResults(&chunked{in, int(chunk)%7 + 1})
		if fmt.Sprint(err) != fmt.Sprint(errPieces) || !slices.Equal(bad, badPieces) || !reflect.DeepEqual(rows, pieces) {
			t.Fatalf("whole %d rows (%v), in pieces %d (%v)", len(rows), err, len(pieces), errPieces)
		}
		for _, r := range rows {
			if r.ID == "" || (r.Type == RowSucceeded) != (r.Message != nil) || (r.Type == RowErrored) != (r.Envelope != nil) || (r.Type == RowMissing) != (r.Fault != "") {
				t.Fatalf("%+v", r)
			}
			if r.Message != nil {
				if _, err := ReadMessage(r.Message); err != nil || bytes.ContainsAny(r.Message, "\n") {
					t.Fatalf("%s: %v", r.Message, err)
				}
			}
		}
	})
}
