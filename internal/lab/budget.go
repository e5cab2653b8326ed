package lab

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/price"
)

// BudgetError says that a call would pass the spend cap of the experiment.
// Nothing of it was sent.
type BudgetError struct{ Spent, Cap price.Nanos }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("stopped at the cap: %s spent or reserved of %s", e.Spent, e.Cap)
}

// purse holds spent plus reserved under the cap: the worst case is reserved at
// the send and settled by what the answer says (facts/control.md B.10).
type purse struct {
	cap             price.Nanos // 0: none
	spent, reserved price.Nanos // reserved when nothing is under way: in doubt
}

func (p *purse) reserve(worst price.Nanos) error {
	if p.cap > 0 && p.spent+p.reserved+worst > p.cap {
		return &BudgetError{Spent: p.spent + p.reserved, Cap: p.cap}
	}
	p.reserved += worst
	return nil
}

// settle ends a reservation. doubt keeps it, as the call may have been billed.
func (p *purse) settle(worst, cost price.Nanos, doubt bool) {
	if doubt {
		return
	}
	p.reserved -= worst
	p.spent += cost
}
