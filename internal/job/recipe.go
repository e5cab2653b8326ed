package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// part is JSON text followed by what a template makes, inside its quotes.
type part struct {
	json string
	fill *Template // nil: text alone
}

// recipe is JSON with templates in its strings.
type recipe []part

// appendTo appends the JSON that the row makes of the recipe.
func (c recipe) appendTo(dst []byte, r *record) ([]byte, error) {
	var err error
	for i := range c {
		dst = append(dst, c[i].json...)
		if c[i].fill == nil {
			continue
		}
		if dst, err = c[i].fill.appendQuoted(dst, r); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (c recipe) usesRow() bool {
	return slices.ContainsFunc(c, func(p part) bool { return p.fill != nil && p.fill.uses })
}

// text appends JSON to the last open part.
func (c *recipe) text(s string) {
	if n := len(*c); n > 0 && (*c)[n-1].fill == nil {
		(*c)[n-1].json += s
		return
	}
	*c = append(*c, part{json: s})
}

// fill appends a template in quotes.
func (c *recipe) fill(t *Template) {
	c.text(`"`)
	(*c)[len(*c)-1].fill = t
	c.text(`"`)
}

// value appends any JSON value, each of its strings a template. Numbers and
// names stay as they are spelled.
func (c *recipe) value(flag string, v gjson.Result) error {
	var err error
	switch {
	case v.IsObject():
		sep := "{"
		v.ForEach(func(k, m gjson.Result) bool {
			c.text(sep + k.Raw + ":")
			sep = ","
			err = c.value(flag, m)
			return err == nil
		})
		if sep == "{" {
			c.text(sep)
		}
		c.text("}")
	case v.IsArray():
		sep := "["
		v.ForEach(func(_, e gjson.Result) bool {
			c.text(sep)
			sep = ","
			err = c.value(flag, e)
			return err == nil
		})
		if sep == "[" {
			c.text(sep)
		}
		c.text("]")
	case v.Type == gjson.String && strings.Contains(v.Str, "{{"):
		var t *Template
		if t, err = ParseTemplate(flag, v.Str); err == nil {
			c.fill(t)
		}
	default:
		c.text(v.Raw)
	}
	return err
}

// given is one field of a body that a flag gives.
type given struct {
	key  string
	flag string
	make recipe
}

// givens lists the fields that the shape's flags give, but for the messages:
// --model, --max-tokens and --system before what --params adds to them.
func (s *Shape) givens() (out []given, messages gjson.Result, err error) {
	add := func(key, flag string, make recipe) { out = append(out, given{key, flag, make}) }
	if s.Model != "" {
		add("model", "--model", recipe{{json: string(appendString(nil, s.Model))}})
	}
	if s.MaxTokens != nil {
		add("max_tokens", "--max-tokens", recipe{{json: strconv.Itoa(*s.MaxTokens)}})
	}
	if s.System != "" {
		t, err := ParseTemplate("--system", s.System)
		if err != nil {
			return nil, messages, err
		}
		var c recipe
		c.fill(t)
		add("system", "--system", c)
	}
	if s.Params == "" {
		return out, messages, nil
	}
	params, err := parseParams(s.Params)
	if err != nil {
		return nil, messages, err
	}
	for _, p := range params {
		if p.key == "messages" {
			messages = p.val
			continue
		}
		if slices.ContainsFunc(out, func(g given) bool { return g.key == p.key }) {
			continue // the flags before --params win over it
		}
		var c recipe
		if err := c.value("--params", p.val); err != nil {
			return nil, messages, err
		}
		add(p.key, "--params", c)
	}
	return out, messages, nil
}

// parseParams reads the JSON object of --params.
func parseParams(text string) ([]field, error) {
	if !gjson.Valid(text) {
		col, err := syntaxError([]byte(text))
		return nil, fmt.Errorf("--params is not JSON: character %d: %w", col, err)
	}
	var r record
	if err := r.read(text); err != nil {
		return nil, fmt.Errorf("--params: a JSON object is needed, this is %s", kindOf(gjson.Parse(text)))
	}
	if r.twice != "" {
		return nil, fmt.Errorf("--params: %q stands twice", r.twice)
	}
	return r.fields, nil
}

// promptRecipe is the whole body of a row of form 3. Its fields stand in one
// order: model, max_tokens, system, messages, then those of --params as written.
func (s *Shape) promptRecipe() (recipe, error) {
	gs, messages, err := s.givens()
	if err != nil {
		return nil, err
	}
	var c recipe
	c.text("{")
	for _, key := range []string{"model", "max_tokens", "system"} {
		i := slices.IndexFunc(gs, func(g given) bool { return g.key == key })
		if i < 0 {
			continue
		}
		c.text(`"` + key + `":`)
		c = append(c, gs[i].make...)
		c.text(",")
		gs = slices.Delete(gs, i, i+1)
	}
	c.text(`"messages":`)
	if err := c.messages(messages, s.Prompt); err != nil {
		return nil, err
	}
	for _, g := range gs {
		c.text("," + string(appendString(nil, g.key)) + ":")
		c = append(c, g.make...)
	}
	c.text("}")
	return c, nil
}

// messages appends the conversation: the turns of --params, then the prompt. A
// last turn that is the user's already (an image, say) takes the prompt as one
// more text block.
func (c *recipe) messages(before gjson.Result, prompt string) error {
	var t *Template
	if prompt != "" {
		var err error
		if t, err = ParseTemplate("--prompt", prompt); err != nil {
			return err
		}
	}
	if !before.Exists() {
		if t == nil {
			return errors.New("no prompt")
		}
		c.text(`[{"role":"user","content":`)
		c.fill(t)
		c.text(`}]`)
		return nil
	}
	if !before.IsArray() || len(before.Array()) == 0 {
		return fmt.Errorf("--params: messages is a list of turns, this is %s", kindOf(before))
	}
	if t == nil {
		return c.value("--params", before)
	}
	turns := before.Array()
	last := turns[len(turns)-1]
	c.text("[")
	for _, turn := range turns[:len(turns)-1] {
		if err := c.value("--params", turn); err != nil {
			return err
		}
		c.text(",")
	}
	if last.Get("role").Str != "user" {
		if err := c.value("--params", last); err != nil {
			return err
		}
		c.text(`,{"role":"user","content":`)
		c.fill(t)
		c.text(`}]`)
		return nil
	}
	c.text(`{"role":"user","content":[`)
	if err := c.blocks(last.Get("content")); err != nil {
		return err
	}
	c.text(`{"type":"text","text":`)
	c.fill(t)
	c.text(`}]}]`)
	return nil
}

// blocks appends the content of a turn as blocks, each with a comma behind it.
func (c *recipe) blocks(content gjson.Result) error {
	if content.Type == gjson.String {
		c.text(`{"type":"text","text":`)
		if err := c.value("--params", content); err != nil {
			return err
		}
		c.text(`},`)
		return nil
	}
	for _, b := range content.Array() {
		if err := c.value("--params", b); err != nil {
			return err
		}
		c.text(",")
	}
	return nil
}
