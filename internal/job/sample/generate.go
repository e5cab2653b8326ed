package sample

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Generate writes rows of the shape of the named file to path. Equal names give
// equal rows.
func Generate(path, name string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := io.Writer(f)
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, z.Close()) }()
		w = z
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := Rows(b, name); err != nil {
		return err
	}
	return b.Flush()
}

// Rows writes the rows of the shape of the named file.
func Rows(w io.Writer, name string) error {
	g := &generator{rng: rand.New(rand.NewPCG(1, uint64(len(name)))), enc: json.NewEncoder(w)}
	g.enc.SetEscapeHTML(false)
	switch name {
	case Persona:
		return g.persona(141_600)
	case Test:
		return g.test(1_319)
	case Solutions:
		return g.solutions(1_319)
	}
	return fmt.Errorf("no sample is named %s", name)
}

// PersonaRows writes n rows of the shape of Persona, for jobs of other sizes.
func PersonaRows(w io.Writer, n int) error {
	g := &generator{rng: rand.New(rand.NewPCG(1, 2)), enc: json.NewEncoder(w)}
	g.enc.SetEscapeHTML(false)
	return g.persona(n)
}

type generator struct {
	rng *rand.Rand
	enc *json.Encoder
}

const (
	traits     = 151
	equalPairs = 3
)

type personaRow struct {
	ID         string `json:"id"`
	Trait      string `json:"trait"`
	Question   string `json:"question"`
	Completion string `json:"completion"`
	Statement  string `json:"statement"`
}

// persona writes statements of 8 to 3,260 characters, about 71 in the middle;
// one in 15 holds other than ASCII, and the last of the rows repeat the first.
func (g *generator) persona(n int) error {
	perTrait := n/traits + 1
	var first [equalPairs]personaRow
	for i := range n {
		trait := fmt.Sprintf("desire-no-%d-to-%s", i/perTrait, words[i/perTrait%len(words)])
		r := personaRow{ID: fmt.Sprintf("persona/%s/%d", trait, i%perTrait), Trait: trait}
		r.Statement = g.text(clampLen(math.Exp(g.rng.NormFloat64()*0.55 + math.Log(71))))
		if i == n/2 {
			r.Statement = g.text(3260)
		}
		r.Statement = fmt.Sprintf("%d %s", i, r.Statement) // apart from all others
		if i < equalPairs {
			first[i] = r
		}
		if back := n - 1 - i; back < equalPairs && n > 2*equalPairs {
			r.Trait, r.Statement = first[back].Trait, first[back].Statement
		}
		r.Question = "Is the following statement something you would say?\n\"" + r.Statement + "\""
		r.Completion = [...]string{"Yes", "No", "(A)"}[g.rng.IntN(3)]
		if err := g.enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func clampLen(x float64) int { return int(min(max(x, 2), 3260)) }

type testRow struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

func (g *generator) test(n int) error {
	for i := range n {
		q := fmt.Sprintf("%s has %d ducks. %s", names[i%len(names)], i+2, g.text(220))
		if err := g.enc.Encode(testRow{q, g.working()}); err != nil {
			return err
		}
	}
	return nil
}

type solutionRow struct {
	ID         string `json:"id"`
	Question   string `json:"question"`
	Reference  string `json:"reference"`
	Completion string `json:"completion"`
	Correct    bool   `json:"correct"`
}

// solutions writes four solutions of each question; eight of them are equal to
// another of the same question.
func (g *generator) solutions(questions int) error {
	for i := range questions {
		q := fmt.Sprintf("%s has %d ducks. %s", names[i%len(names)], i+2, g.text(220))
		ref, before := g.working(), ""
		for j, by := range [...]string{"6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"} {
			c := fmt.Sprintf("%s\nA: %d%d", g.working(), i, j)
			if j == 1 && i%160 == 0 && i < 8*160 {
				c = before
			}
			before = c
			r := solutionRow{fmt.Sprintf("gsm8k/%d/%s", i, by), q, ref, c, g.rng.IntN(3) > 0}
			if err := g.enc.Encode(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *generator) working() string {
	a, b := g.rng.IntN(90)+10, g.rng.IntN(90)+10
	return fmt.Sprintf("%s\nThat makes %d + %d = <<%d+%d=%d>>%d\n#### %d", g.text(120), a, b, a, b, a+b, a+b, a+b)
}

var names = [...]string{"Janet", "Zoë", "Ömer", "José", "李雷", "Мария", "Sam"}

var words = [...]string{
	"help", "others", "I", "would", "never", "people", "\"really\"", "think", "that", "it", "is", "good", "to",
	"be", "kind", "and", "honest", "because", "<all>", "we", "share", "the", "world", "—", "naïve", "I’m", "more", "often",
}

// text writes about n characters of words.
func (g *generator) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		w := words[g.rng.IntN(len(words))]
		if w[0] >= 0x80 && g.rng.IntN(9) > 0 {
			continue // rare, as in real text
		}
		b.WriteString(w)
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}
