package job

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

// rejectedName is where rows set aside go: beside OUT.
func (o *Output) rejectedName() string {
	if o.Path == "" || o.Path == "-" {
		return "rejected.jsonl"
	}
	return o.Path + ".rejected.jsonl"
}

// writeRejected writes what --skip-bad set aside, each with its place, its
// fault and its text, so that it can be mended and run again.
func (r *Run) writeRejected() error {
	if len(r.x.rejected) == 0 {
		return nil
	}
	name := r.cfg.Output.rejectedName()
	err := replaceFile(name, func(f *os.File) error {
		w := bufio.NewWriter(f)
		var line []byte
		for _, e := range r.x.rejected {
			line = e.appendLine(line[:0])
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	r.cfg.Say(fmt.Sprintf("%s set aside in %s, the first: %v", rows(len(r.x.rejected)), name, r.x.rejected[0]))
	return nil
}

func (e *RowError) appendLine(dst []byte) []byte {
	dst = appendString(append(dst, `{"input":`...), e.Input)
	for _, n := range []struct {
		key string
		n   int
	}{{"record", e.Record}, {"row", e.Row}, {"line", e.Line}, {"column", e.Column}} {
		if n.n > 0 {
			dst = append(append(append(dst, `,"`...), n.key...), `":`...)
			dst = strconv.AppendInt(dst, int64(n.n), 10)
		}
	}
	dst = appendString(append(dst, `,"error":`...), e.Err.Error())
	if e.raw != "" {
		dst = appendString(append(dst, `,"text":`...), e.raw)
	}
	return append(dst, "}\n"...)
}

// rows is "1 row" or "6,120 rows".
func rows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return grouped(n) + " rows"
}

// grouped writes a number with commas between its thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
