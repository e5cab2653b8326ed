package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// keptShape is what a journal keeps of a job so that its rows can be made again
// from its inputs.
type keptShape struct {
	Format int      `json:"format"`
	Inputs []string `json:"inputs"` // absolute paths; streamName for what can be read once
	Digest string   `json:"digest"` // SHA-256 of their contents, as the identity has it
	Shape  Shape    `json:"shape"`

	Craft json.RawMessage `json:"craft,omitempty"` // as Craft.Kept has it; absent: the job has none
}

// keptFormat is that of keptShape; others are not read.
const keptFormat = 1

// kept is the shape of a job for its journal.
func (x *index) kept() json.RawMessage {
	k := keptShape{Format: keptFormat, Digest: hex.EncodeToString(x.digest[:]), Shape: *x.build.shape}
	k.Shape.Params = withoutSecrets(k.Shape.Params)
	if c := x.build.craft; c != nil {
		k.Craft = c.Kept()
	}
	for _, in := range x.inputs {
		name := streamName
		if !in.stream {
			name = absolute(in.name)
		}
		k.Inputs = append(k.Inputs, name)
	}
	text, err := json.Marshal(k)
	if err != nil {
		return nil // of texts and numbers: there is none
	}
	return text
}

// redacted stands for what a journal does not keep.
const redacted = "(not kept)"

// secretNames are members of params whose values a journal does not keep: those
// of tool servers, such as mcp_servers' authorization_token.
var secretNames = []string{"authorization_token", "authorization", "api_key", "password", "secret", "token"}

// WithoutSecrets is params of a request with their secrets redacted, for what is
// kept or shown.
func WithoutSecrets(params string) string { return withoutSecrets(params) }

// withoutSecrets is params with their secrets redacted; where there are none it
// is the very text.
func withoutSecrets(params string) string {
	d := json.NewDecoder(strings.NewReader(params))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || !redact(v) {
		return params
	}
	text, err := json.Marshal(v)
	if err != nil {
		return redacted
	}
	return string(text)
}

// redact takes secrets out of a value, and says whether it had some.
func redact(v any) (found bool) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			found = redact(one) || found
		}
	case map[string]any:
		for name, one := range v {
			if slices.Contains(secretNames, strings.ToLower(name)) {
				v[name], found = redacted, true
				continue
			}
			found = redact(one) || found
		}
	}
	return found
}

// KeptCraft is what the Shape of a job's Spec has of its craft; nil: it has none.
func KeptCraft(shape json.RawMessage) (json.RawMessage, error) {
	var k keptShape
	if err := json.Unmarshal(shape, &k); err != nil || k.Format != keptFormat {
		return nil, errors.Join(errors.New("what the journal says of the job cannot be read: another version wrote it"), err)
	}
	return k.Craft, nil
}

// KeptRows are the rows of a job that no run has open, made again from its
// inputs. It must be closed.
type KeptRows struct{ rowReader }

// OpenRows reads the inputs of a job again, by the Shape that its Spec had: their
// contents are hashed, which takes about a second for 2 GB, and must be what they
// were. Values that the journal does not keep are redacted in the bodies. Dir is
// where copies of packed inputs and tables are spooled; empty: the system's. The
// error says for people why the rows cannot be had.
func OpenRows(ctx context.Context, shape json.RawMessage, dir string) (*KeptRows, error) {
	return OpenCraftRows(ctx, shape, dir, func(json.RawMessage) (Craft, error) {
		return nil, errors.New("the rows of a job of this kind are made otherwise")
	})
}

// OpenCraftRows is OpenRows for jobs that may have a craft: open makes it of what
// its Kept was.
func OpenCraftRows(ctx context.Context, shape json.RawMessage, dir string, open func(json.RawMessage) (Craft, error)) (_ *KeptRows, err error) {
	var k keptShape
	if len(shape) == 0 {
		return nil, errors.New("the journal does not say what the job's rows are made of: an older version began it")
	}
	if err := json.Unmarshal(shape, &k); err != nil || k.Format != keptFormat {
		return nil, errors.Join(errors.New("what the journal says of the job's rows cannot be read: another version wrote it"), err)
	}
	build, err := newBuilder(&k.Shape)
	if err != nil {
		return nil, err
	}
	if len(k.Craft) > 0 {
		if build.craft, err = open(k.Craft); err != nil {
			return nil, err
		}
	}
	x := &index{build: build, repeats: k.Shape.repeats(), asks: build.asks()}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	if err := x.reopen(ctx, k.Inputs, dir); err != nil {
		return nil, err
	}
	if hex.EncodeToString(x.digest[:]) != k.Digest {
		return nil, errors.New("the inputs are not what they were: " + strings.Join(k.Inputs, ", "))
	}
	return &KeptRows{rowReader{x}}, nil
}

// Close lets go of the inputs.
func (k *KeptRows) Close() error { return k.x.close() }

// reopen finds the rows of inputs and hashes them as the index pass does.
func (x *index) reopen(ctx context.Context, names []string, dir string) error {
	all := sha256.New()
	for i, name := range names {
		if name == streamName {
			return errors.New("the rows came by standard input or a pipe, which cannot be read again")
		}
		in, err := openInput(name, nil, dir)
		if err != nil {
			return err
		}
		x.inputs, x.firsts = append(x.inputs, in), append(x.firsts, x.records())
		sum := sha256.New()
		err = readBlocks(io.NewSectionReader(in.text, 0, math.MaxInt64), func(b *block) error {
			_, _ = sum.Write(b.text)
			x.noteRows(b, uint16(i))
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", in.name, bare(err))
		}
		_, _ = all.Write(sum.Sum(nil))
	}
	all.Sum(x.digest[:0])
	return nil
}

// noteRows notes where the rows of a block are. Whether one is at fault shows when
// it is read.
func (x *index) noteRows(b *block, input uint16) {
	if b.long > 0 {
		x.addRecord(entry{off: b.off, len: uint32(len(b.text)), input: input, kind: noKind})
		return
	}
	b.lines(func(off int64, _ int, text []byte) {
		e := entry{off: off, len: uint32(len(text)), sum: crc32.Checksum(text, castagnoli), input: input}
		if text[0] == faultMark && x.inputs[input].table() || wire.Valid(text) != nil {
			e.kind = noKind
		}
		x.addRecord(e)
	})
}

// addRecord adds the rows of a record, which stand in one place.
func (x *index) addRecord(e entry) {
	for range x.asks {
		x.rows.add(e)
	}
}
