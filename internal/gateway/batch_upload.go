package gateway

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Bounds of one create (facts/claude-api.md 4.3): those of the API, which says
// 256 MB and not which; the larger meaning, so that nothing is refused here that
// passes there.
const (
	maxUpload     = 256 << 20
	maxUploadRows = wire.MaxBatchRows
)

// uploadRow is one element of a create: parts of the reader's memory, until the
// next is read.
type uploadRow struct {
	id     string
	params []byte // byte for byte
}

// errUpload is a body over maxUpload, or a row over wire.MaxLine.
var errUpload = errors.New("the body is too large")

// readUpload reads the body of a create and gives each row to take, in order. No
// more than one row is in memory at a time. What the API refuses of a create at
// once is refused here with its words: all but the params' content, which is
// each row's own affair (facts/claude-api.md 4.3). take is called for rows
// before the fault too. A *refused is the client's fault, other errors are those
// of r and of take.
func readUpload(r io.Reader, take func(*uploadRow) error) (n int, err error) {
	u := &upload{c: textReader{r: io.LimitReader(r, maxUpload+1)}, take: take, seen: map[string]struct{}{}}
	err = u.body()
	if u.c.total > maxUpload {
		return u.n, errUpload
	}
	var syntax *wire.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return u.n, &refused{invalid("The request body is not valid JSON: " + syntax.Error())}
	case err != nil:
		return u.n, err
	}
	if e := u.verdict(); e != nil {
		return u.n, &refused{e}
	}
	return u.n, nil
}

// refused is a body that the API would refuse.
type refused struct{ *apiError }

func (e *refused) Error() string { return e.message }

// upload is a create that is being read.
type upload struct {
	c    textReader
	take func(*uploadRow) error
	n    int
	seen map[string]struct{}

	listed bool   // there is a member "requests", and it is a list
	absent bool   // there is one that is none
	extra  string // the first member that is unknown
	bad    *apiError
}

// verdict is what the API says of a body that is JSON, in its order.
func (u *upload) verdict() *apiError {
	switch {
	case u.absent:
		return invalid("requests: Input should be a valid list")
	case !u.listed:
		return invalid("requests: Field required")
	case u.extra != "":
		return invalid(u.extra + ": Extra inputs are not permitted")
	case u.n == 0:
		return invalid("requests: List should have at least 1 item after validation, not 0")
	case u.n > maxUploadRows:
		return invalid(fmt.Sprintf("requests: List should have at most %d items after validation, not %d", maxUploadRows, u.n))
	}
	return u.bad
}

// body reads the object that a create is.
func (u *upload) body() error {
	first, err := u.c.peek()
	if err != nil {
		return err
	}
	if first != '{' {
		if _, err := u.c.value(); err != nil {
			return err
		}
		return u.c.fail("expected an object")
	}
	err = u.c.members(func(name []byte) error {
		if string(name) == `"requests"` {
			return u.requests()
		}
		if u.extra == "" {
			u.extra = gjson.ParseBytes(name).Str
		}
		_, err := u.c.value()
		return err
	})
	if err != nil {
		return err
	}
	return u.c.end()
}

func (u *upload) requests() error {
	if u.listed || u.absent {
		return u.c.fail("a second list of requests")
	}
	first, err := u.c.peek()
	if err != nil {
		return err
	}
	if first != '[' {
		u.absent = true
		_, err := u.c.value()
		return err
	}
	u.listed = true
	return u.c.elements(u.row)
}

// row reads one element. After a fault, or too many of them, rows are only
// counted: what is said first is that the body is JSON, and how many there are.
func (u *upload) row() error {
	raw, err := u.c.value()
	if err != nil {
		return err
	}
	i := u.n
	u.n++
	if u.bad != nil || u.n > maxUploadRows {
		return nil
	}
	row, bad := splitRow(i, raw)
	if bad == nil {
		bad = u.unique(row.id)
	}
	if u.bad = bad; bad != nil {
		return nil
	}
	return u.take(&row)
}

func (u *upload) unique(id string) *apiError {
	if _, twice := u.seen[id]; twice {
		return invalid("requests: custom_id's must be unique within a batch. Duplicate custom_id found: " + id)
	}
	u.seen[strings.Clone(id)] = struct{}{}
	return nil
}

// splitRow takes an element apart.
func splitRow(i int, raw []byte) (row uploadRow, bad *apiError) {
	v := gjson.ParseBytes(raw)
	if !v.IsObject() {
		return row, invalid(fmt.Sprintf("requests.%d: Input should be a valid dictionary or object", i))
	}
	var id, params gjson.Result
	extra := ""
	v.ForEach(func(k, f gjson.Result) bool {
		switch name := k.Str; name {
		case "custom_id":
			id = f
		case "params":
			params = f
		default:
			extra = name
		}
		return true
	})
	if bad = checkCustomID(i, id); bad != nil {
		return row, bad
	}
	switch {
	case !params.Exists():
		return row, invalid(fmt.Sprintf("requests.%d.params: Field required", i))
	case !params.IsObject():
		return row, invalid(fmt.Sprintf("requests.%d.params: Input should be a valid dictionary or object", i))
	case extra != "":
		return row, invalid(fmt.Sprintf("requests.%d.%s: Extra inputs are not permitted", i, extra))
	}
	return uploadRow{id: id.Str, params: []byte(params.Raw)}, nil
}

// maxCustomID is the most letters of a custom_id (facts/claude-api.md 4.3).
const maxCustomID = 64

func checkCustomID(i int, id gjson.Result) *apiError {
	at := fmt.Sprintf("requests.%d.custom_id: ", i)
	switch {
	case !id.Exists():
		return invalid(at + "Field required")
	case id.Type != gjson.String:
		return invalid(at + "Input should be a valid string")
	case len([]rune(id.Str)) > maxCustomID:
		return invalid(fmt.Sprintf("%sString should have at most %d characters", at, maxCustomID))
	case id.Str == "" || strings.ContainsFunc(id.Str, notInID):
		return invalid(at + "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
	}
	return nil
}

func notInID(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
}

// onOneLine puts JSON on one line in place: a line break can only stand between
// tokens, and a space says the same there.
func onOneLine(b []byte) []byte {
	for i := range b {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' '
		}
	}
	return b
}
