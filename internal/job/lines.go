package job

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a row (interface.md, "Input").
const maxLine = 32 << 20

// blockSize is about how much of an input one goroutine gets at a time.
const blockSize = 256 << 10

// block is a run of whole lines of one input.
type block struct {
	text []byte
	off  int64 // of text in the input
	line int   // number of its first line, from 1
	row  int   // rows before it in its input
	long int64 // it is the start of one line of so many bytes, too many; 0: it is whole lines
}

// lines cuts a block's rows out of its text: rows end at LF alone, since U+2028,
// NEL and a lone CR are content (facts/peer-faults.md 21); blank lines are no rows.
func (b *block) lines(each func(off int64, line int, row []byte)) {
	off, line, text := b.off, b.line, b.text
	for len(text) > 0 {
		one, _, _ := bytes.Cut(text, []byte{'\n'})
		if row, skip := trimLine(one, off == 0); len(row) > 0 {
			each(off+int64(skip), line, row)
		}
		size := min(len(one)+1, len(text))
		text, off, line = text[size:], off+int64(size), line+1
	}
}

// trimLine takes white space off the ends, and a byte order mark off the first
// line; skip is how much went at the front.
func trimLine(line []byte, first bool) (row []byte, skip int) {
	row = line
	if first {
		row = bytes.TrimPrefix(row, []byte("\ufeff"))
	}
	row = bytes.TrimLeft(row, " \t\r\n")
	return bytes.TrimRight(row, " \t\r\n"), len(line) - len(row)
}

// readBlocks reads r to its end and hands it on in blocks, in order. next may
// keep a block. Lines grow the block they stand in, up to the bound
// (facts/peer-faults.md 15, 22); one that is longer is handed on as such, and
// the reading goes on behind it.
func readBlocks(r io.Reader, next func(*block) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	b := &block{line: 1}
	at := block{line: 1} // where the next line begins
	start := 0           // of the line under way, in b.text
	var size int64       // of the line under way
	for {
		part, err := br.ReadSlice('\n')
		size += int64(len(part))
		if size <= maxLine+2 {
			b.text = append(b.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		row, _ := trimLine(b.text[start:], at.off == 0)
		before := at
		at.off, at.line = at.off+size, at.line+1
		if len(row) > 0 {
			at.row++
		}
		if size > maxLine+2 || len(row) > maxLine {
			if e := b.handOn(start, next); e != nil {
				return e
			}
			b = &block{text: b.text[start:min(len(b.text), start+4096)], off: before.off, line: before.line, row: before.row, long: size}
			if e := next(b); e != nil {
				return e
			}
			b = &block{off: at.off, line: at.line, row: at.row}
		}
		if len(b.text) >= blockSize || err != nil {
			if e := b.handOn(len(b.text), next); e != nil || err != nil {
				return e
			}
			b = &block{text: make([]byte, 0, blockSize+16<<10), off: at.off, line: at.line, row: at.row}
		}
		start, size = len(b.text), 0
	}
}

func (b *block) handOn(end int, next func(*block) error) error {
	one := *b
	one.text = b.text[:end:end]
	if len(one.text) == 0 {
		return nil
	}
	return next(&one)
}
