package plan

import "testing"

// TestScenarios holds the scheduler to the bounds of facts/control.md part F
// (those changed at its head included) and prints them as one table. Rows 29
// and 31 are TestMoney and TestReplay, row 30 is a test of the program, row 32
// belongs to the batch tier, row 33 is a benchmark.
func TestScenarios(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, group := range [][]row{steadyRows(), hiddenRows(), sharedRows(), troubleRows(), sizeRows(), {randomRow()}, invariantRows()} {
		rows = append(rows, group...)
	}
	runRows(t, "facts/control.md part F; eff = T_LB/T, effP = T_P/T; beside: efficiency/refusals under seed 1", rows)
}
