package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

func (r *limitsReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "org\tpool\trequests/min\tinput/min\toutput/min\ttokens/day\tcap\tin use\tsource")
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Pool == batchPool {
			queue := "-"
			if row.Queue > 0 {
				queue = count(row.Queue) + " rows"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\t\t\t%s\t%s\n", row.Org, row.Pool, count(row.RPM), queue, row.InQueue, row.Source)
			continue
		}
		source := row.Source
		if row.Error != "" {
			source = row.Error
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", row.Org, row.Pool,
			count(row.RPM), count(row.ITPM), count(row.OTPM), count(float64(row.TPD)), row.Cap, row.InUse, source)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

// String gives the fullest bucket; nil is not known.
func (u *inUse) String() string {
	if u == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*max(u.Requests, u.Input, u.Output))
}

// count prints a figure with separators; 0 is not known.
func count(v float64) string {
	if v == 0 {
		return "-"
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
