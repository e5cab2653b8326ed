package job

import (
	"github.com/flotilla-llm/flotilla"
)

// Exit codes (interface.md, "Exit codes").
const (
	ExitOK          = 0
	ExitError       = 1 // usage, configuration, input or I/O error, or no usable key
	ExitRows        = 2 // finished, some rows errored, expired or canceled, or set aside
	ExitCap         = 3 // stopped at our spend cap
	ExitDeadline    = 4 // deadline passed with rows left
	ExitClosed      = 5 // every lane that could take a pending row is closed for too long
	ExitInterrupted = 130
)

// ExitCode is what a run's end comes to. Where several apply, 130, 1, 5, 3, 4
// and 2 win in that order; a cause that left nothing pending is none.
func ExitCode(cause flotilla.Cause, err error, s *Summary) int {
	left := s.Pending > 0
	switch {
	case cause == flotilla.Interrupted && left:
		return ExitInterrupted
	case err != nil:
		return ExitError
	case cause == flotilla.LanesClosed && left:
		return ExitClosed
	case cause == flotilla.CapReached && left:
		return ExitCap
	case cause == flotilla.DeadlinePassed && left:
		return ExitDeadline
	case s.Errored+s.Expired+s.Canceled+s.Rejected > 0:
		return ExitRows
	case left:
		return ExitError // rows are left and nothing said why
	}
	return ExitOK
}
