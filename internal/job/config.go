package job

import (
	"context"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Fleet makes the calls: *flotilla.Fleet is one.
type Fleet interface {
	Weigher
	Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (flotilla.Report, error)
}

// Config says what a run is to do.
type Config struct {
	Inputs []string  // files, or "-" for Stdin
	Stdin  io.Reader // nil: empty
	Shape  Shape
	Output Output

	SkipBad   bool     // rows that are at fault are set aside and the rest goes on
	Limit     int      // only the first rows; 0: all
	OutTokens int      // expected tokens of an answer; 0: to be learned
	OutP95    int      // their 95th percentile; 0: not given
	Retry     []string // errored, expired, canceled, truncated, refused: sent again
	NoCache   bool     // answers of other jobs are not used
	Reuse     []string // earlier result files whose answers are used
	FailFast  bool     // stop at the first row that errors
	// AsIs sends rows as their author wrote them, as the API would take them: no
	// canary goes first, and only what cannot be weighed is at fault here; what a
	// model or a version refuses is for the API to say, row by row.
	AsIs bool

	Dir      string // where copies of input are spooled: beside the journal; empty: the system's
	Command  string // for people, without secrets
	Emulated string // provenance mark of the provider; empty: the real one
	Client   string // of the gateway, whose job it is; empty: none's
	Kind     string // of the journal's kinds; empty: a run of the command line
	Salt     []byte // makes a job of its own where another has the same rows and shape; nil: rows and shape alone say which it is
	Prices   *price.Table
	Craft    Craft // makes requests of rows and lines of answers; nil: as run does

	NoSync bool // no org takes sync calls: a canary goes as a batch of one

	// Options go to the fleet's Carry; Job, Name, N, Spent and Batches are filled in.
	Options flotilla.Options

	KeyVariable func(org string) string // that holds an org's key, for hints; nil: not known

	Now     func() time.Time                     // of the fleet's clock; nil: the machine's
	Say     func(string)                         // told lines for people, such as warnings; nil: nobody
	Learned func(model string, out, p95 float64) // told once how long a model's answers are, where it was not known; from the fleet's goroutine; nil: nobody
	Settled func(Progress)                       // told of every settled row, from the fleet's goroutine: must not block; nil: nobody
}

// Progress is how a run stands, for a display.
type Progress struct {
	N, Done int // rows of this run, and those of them with a result
	Failed  int // errored, expired or canceled
	Cost    flotilla.Money
	Settled int   // in this run
	Output  int64 // tokens, in this run
	Last    time.Time
}
