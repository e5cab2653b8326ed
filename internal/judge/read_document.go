package judge

import (
	"strings"

	"github.com/tidwall/gjson"
)

// documentClaims reads the form json: the one object that fits the schema.
func (r *Rubric) documentClaims(text string, objects []object) []claim {
	if whole := strings.TrimSpace(text); gjson.Valid(whole) {
		objects = []object{{json: whole}}
	}
	var fit []string
	fault := ""
	for _, o := range objects {
		if o.json == "" {
			continue
		}
		if wrong := r.misfit(o.json); wrong == "" {
			fit = append(fit, o.json)
		} else if fault == "" {
			fault = wrong
		}
	}
	switch {
	case len(fit) > 1:
		return []claim{{inJSON: true, fault: "several JSON objects fit the schema"}}
	case len(fit) == 1:
		return []claim{r.fieldOf(gjson.Parse(fit[0]))}
	case fault != "":
		return []claim{{inJSON: true, fault: "the JSON does not fit the schema: " + fault}}
	}
	return nil
}

func (r *Rubric) misfit(text string) string {
	if r.schema == nil && !gjson.Parse(text).IsObject() {
		return "it is no object"
	}
	return conforms(r.schema, []byte(text))
}

// fieldOf is what statistics count of a document.
func (r *Rubric) fieldOf(doc gjson.Result) claim {
	c := claim{inJSON: true}
	if r.Verdict.Field == "" {
		return c
	}
	var v gjson.Result
	doc.ForEach(func(k, m gjson.Result) bool {
		if k.Str == r.Verdict.Field {
			v = m
		}
		return true
	})
	if len(r.Verdict.Labels) > 0 {
		c = r.labelOf(v)
	} else {
		c = r.scoreOf(v)
	}
	c.inJSON = true
	return c
}
