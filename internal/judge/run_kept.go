package judge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

// keptPanel is what a journal keeps of a panel.
type keptPanel struct {
	Format    int               `json:"format"`
	Rubrics   []keptRubric      `json:"rubrics"`
	Models    []string          `json:"models,omitempty"`
	Params    string            `json:"params,omitempty"`
	MaxTokens int               `json:"max_tokens,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
	Swap      bool              `json:"swap,omitempty"`
	By        string            `json:"by,omitempty"`
	Label     string            `json:"label,omitempty"`
}

type keptRubric struct {
	Name string `json:"name"`
	YAML string `json:"yaml"` // the file's text
}

// keptFormat is that of keptPanel; others are not read.
const keptFormat = 1

// Kept implements job.Craft.
func (p *Panel) Kept() json.RawMessage {
	k := keptPanel{
		Format: keptFormat, Models: p.set.Models, Params: job.WithoutSecrets(p.set.Params), MaxTokens: p.set.MaxTokens,
		Fields: p.set.Fields, Swap: p.set.Swap, By: p.set.By, Label: p.set.Label,
	}
	for _, r := range p.set.Rubrics {
		k.Rubrics = append(k.Rubrics, keptRubric{r.Name, string(r.source)})
	}
	text, err := json.Marshal(k)
	if err != nil {
		return nil // of texts: there is none
	}
	return text
}

// Open makes a panel of what Kept was, for a job that is looked at afterwards.
func Open(kept json.RawMessage, prices *price.Table) (*Panel, error) {
	var k keptPanel
	if err := json.Unmarshal(kept, &k); err != nil || k.Format != keptFormat {
		return nil, errors.Join(errors.New("what the journal says of the job's rubrics cannot be read: another version wrote it"), err)
	}
	s := Settings{Models: k.Models, Params: k.Params, MaxTokens: k.MaxTokens, Fields: k.Fields, Swap: k.Swap, By: k.By, Label: k.Label, Prices: prices}
	for _, r := range k.Rubrics {
		one, err := Parse("rubric "+r.Name, []byte(r.YAML))
		if err != nil {
			return nil, err
		}
		s.Rubrics = append(s.Rubrics, one)
	}
	return NewPanel(s)
}

// OpenRows reads the rows of a judge job again by the Shape that the journal has
// of it, as job.OpenRows does those of a run's. Call number c of the journal is
// about row c/(asks×repeats): see job.KeptRows.
func OpenRows(ctx context.Context, shape json.RawMessage, dir string) (rows *job.KeptRows, p *Panel, err error) {
	rows, err = job.OpenCraftRows(ctx, shape, dir, func(kept json.RawMessage) (job.Craft, error) {
		p, err = Open(kept, nil)
		return p, err
	})
	return rows, p, err
}

// ReadCall is what a kept answer comes to; told: no judge was asked.
func (p *Panel) ReadCall(ask int, a *job.Answer, told bool) Reading { return p.reading(ask, a, told) }
