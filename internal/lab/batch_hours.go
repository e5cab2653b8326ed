package lab

import (
	"context"
	"time"
)

// hourSlack is how far into an hour a cell may begin: with one org it takes
// three quarters of one.
const hourSlack = 10 * time.Minute

// nextHour is when a cell of that hour may begin: now, or at the next full hour
// of that number.
func nextHour(now time.Time, hour int) time.Time {
	now = now.UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, 0, 0, 0, time.UTC)
	if now.Before(at.Add(hourSlack)) {
		if now.After(at) {
			return now
		}
		return at
	}
	return at.AddDate(0, 0, 1)
}

// eachCell carries all cells out, always the one whose hour comes next, and
// gives what each showed. do carries a round out; it is asked again for rounds
// that an earlier invocation finished, which it has kept. A cell that an
// interruption fell into is done again.
func eachCell(ctx context.Context, d desk, orgs []string, do func(round) (seen, error), got func(cellSeen)) error {
	left := cells()
	for len(left) > 0 {
		i, at, err := upNext(d, left, orgs)
		if err != nil {
			return err
		}
		if err := d.until(ctx, at); err != nil {
			return err
		}
		c := left[i]
		left = append(left[:i], left[i+1:]...)
		shown, late, err := oneCell(c, orgs, do)
		switch {
		case err != nil:
			return err
		case late:
			c.try++
			left = append(left, c)
		default:
			got(shown)
		}
	}
	return nil
}

func oneCell(c cell, orgs []string, do func(round) (seen, error)) (shown cellSeen, late bool, err error) {
	shown = cellSeen{Hour: c.Hour, Day: c.Day}
	for _, r := range c.rounds(orgs) {
		s, err := do(r)
		if err != nil || s.Late {
			return shown, true, err
		}
		shown.Lots = append(shown.Lots, s.Lots...)
	}
	return shown, false, nil
}

// upNext is the cell to go on with: one that was begun, at once, else the one
// whose hour comes next, of equals the first day's.
func upNext(d desk, left []cell, orgs []string) (i int, at time.Time, err error) {
	now := d.now()
	for j, c := range left {
		_, begun, err := d.kept("began " + c.rounds(orgs)[0].Name)
		if err != nil {
			return 0, now, err
		}
		if begun {
			return j, now, nil
		}
		if next := nextHour(now, c.Hour); j == 0 || next.Before(at) {
			i, at = j, next
		}
	}
	return i, at, nil
}
