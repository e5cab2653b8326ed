package job

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// refuseAlone refuses a job that no org takes sync calls for, and that has a row
// which no batch may carry: it could never be sent.
func (x *index) refuseAlone() error {
	for row := range x.rows.n {
		k := x.rows.at(row).kind
		if k == noKind || !x.kinds[k].alone {
			continue
		}
		var rec record
		if err := x.read(row, &rec); err != nil {
			return err
		}
		body, err := x.build.body(nil, &rec, row%x.asks)
		if err != nil {
			return err
		}
		f, err := wire.Parse(body)
		if err != nil {
			return err
		}
		at, err := x.place(row / x.asks)
		if err != nil {
			return err
		}
		_, why := wire.Batchable(&f)
		at.Err = WithHint(fmt.Errorf("no batch may carry the row (%s), and no org takes sync calls", why),
			"take the field out, or let an org have sync among its tiers")
		return at
	}
	return nil
}
