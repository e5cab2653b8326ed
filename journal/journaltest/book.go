// Package journaltest holds every journal to one behaviour: [Run] is the
// conformance suite that the file, the memory and any later database pass.
package journaltest

import (
	"context"
	"iter"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Book is what the suite asks of a journal.
type Book interface {
	flotilla.Store
	Begin(ctx context.Context, spec journal.JobSpec) (Job, error)
	Jobs(ctx context.Context, since time.Time) ([]journal.JobInfo, error)
	Find(ctx context.Context, prefix string) (journal.JobInfo, error)
	Answer(ctx context.Context, id int64) (journal.Answer, error)
	Audit(ctx context.Context, job int64, lines func(row int) int) (*journal.Audit, error)
	ClearDoubt(ctx context.Context, job int64) (journal.Cleared, error)
	Remove(ctx context.Context, job int64) error
	Abandon(ctx context.Context, job int64) error
	Prune(ctx context.Context, before time.Time) (int, error)
	Signal(ctx context.Context, job int64, s journal.Signal) error
	Grant(ctx context.Context, job int64, at time.Time, want, limit flotilla.Money) (journal.Allowance, error)
	Return(ctx context.Context, job int64, at time.Time, keep flotilla.Money) error
	SpentOn(ctx context.Context, at time.Time) (flotilla.Money, error)
	Lease(ctx context.Context, pot string, limit, want int, ttl time.Duration) (journal.Share, error)
	Release(ctx context.Context, pot string, keep int) error
	DayUse(ctx context.Context, realm journal.Realm, org, pool string, now time.Time) ([]journal.Use, error)
	Note(ctx context.Context, realm journal.Realm, lane, name string, value float64, at time.Time) error
	Hints(ctx context.Context, realm journal.Realm, lane string) (map[string]journal.Hint, error)
	OpenBatches(ctx context.Context) ([]journal.BatchInfo, error)
	Turnarounds(ctx context.Context, realm journal.Realm, org string, last int) ([]journal.Turnaround, error)
	SettledOn(ctx context.Context, at time.Time) (flotilla.Money, error)
	SpentOfClients(ctx context.Context, at time.Time) (map[string]flotilla.Money, error)
	SpentBy(ctx context.Context, client string, at time.Time) (flotilla.Money, error)
	DayOf(ctx context.Context, client string, at time.Time) (spent flotilla.Money, held []flotilla.HeldBatch, err error)
	SetCap(ctx context.Context, job int64, limit flotilla.Money) error
	AddClient(ctx context.Context, c journal.Client) error
	Clients(ctx context.Context) ([]journal.Client, error)
	RevokeClient(ctx context.Context, name string) error
	PutClientBatch(ctx context.Context, b journal.ClientBatch) error
	ChangeClientBatch(ctx context.Context, id string, change func(*journal.ClientBatch) bool) (journal.ClientBatch, error)
	ClientBatch(ctx context.Context, id string) (b journal.ClientBatch, found bool, err error)
	ClientBatches(ctx context.Context, client string) ([]journal.ClientBatch, error)
	Successes(ctx context.Context, realm journal.Realm) iter.Seq2[journal.Success, error]
	Newest(ctx context.Context) (int64, error)
	Rows(ctx context.Context, job, after int64) iter.Seq2[journal.Row, error]
	AnswersOf(ctx context.Context, job, after int64) iter.Seq2[journal.Answer, error]
	Peek(ctx context.Context, spec journal.JobSpec) (job Job, found bool, err error)
	Close() error
}

// Job is what the suite asks of a job.
type Job interface {
	Number() int64
	Name() string // short id
	Begun() (resumed bool, left string)
	State(ctx context.Context) (*journal.State, error)
	Answers(ctx context.Context, after int64) iter.Seq2[journal.Answer, error]
	Cached(ctx context.Context, n int, key func(row int) ([16]byte, int)) ([]int64, error)
	Adopt(ctx context.Context, adoptions []journal.Adoption) error
	Spent(ctx context.Context) (flotilla.Money, error)
	Batches(ctx context.Context) ([]flotilla.OpenBatch, error)
	OutStats(ctx context.Context, model string) (n int64, mean, p95 float64, err error)
	Out(ctx context.Context, path string) (int64, error)
	Wrote(durable int64)
	Signal(ctx context.Context) (journal.Signal, error)
	Cap(ctx context.Context) (limit flotilla.Money, given bool, err error)
	NextRow(ctx context.Context) (int, error)
	End(ctx context.Context, state string, totals any) error
}

// SQLite makes a Book of a journal of ours.
func SQLite(j *journal.Journal) Book { return sqliteBook{j} }

type sqliteBook struct{ *journal.Journal }

func (b sqliteBook) Begin(ctx context.Context, spec journal.JobSpec) (Job, error) {
	job, err := b.Journal.Begin(ctx, spec)
	if err != nil {
		return nil, err
	}
	return sqliteJob{job}, nil
}

func (b sqliteBook) Peek(ctx context.Context, spec journal.JobSpec) (Job, bool, error) {
	job, found, err := b.Journal.Peek(ctx, spec)
	return sqliteJob{job}, found, err
}

type sqliteJob struct{ *journal.Job }

func (j sqliteJob) Number() int64                      { return j.ID }
func (j sqliteJob) Name() string                       { return j.Key }
func (j sqliteJob) Begun() (resumed bool, left string) { return j.Resumed, j.Left }
