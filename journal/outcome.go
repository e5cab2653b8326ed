package journal

import "fmt"

// Outcome is how a row stands. The zero value is not settled.
type Outcome uint8

// Outcomes, in the numbers that the tables have.
const (
	Pending Outcome = iota
	Succeeded
	Errored
	Expired
	Canceled
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"pending", "succeeded", "errored", "expired", "canceled"}

// String is the word of result.type.
func (o Outcome) String() string {
	if o >= numOutcomes {
		return fmt.Sprintf("outcome %d", uint8(o))
	}
	return outcomeNames[o]
}

func parseOutcome(name string) (Outcome, error) {
	for o := Succeeded; o < numOutcomes; o++ {
		if outcomeNames[o] == name {
			return o, nil
		}
	}
	return Pending, fmt.Errorf("unknown outcome %q", name)
}
