package journal

import (
	"database/sql"
	"errors"
)

// lane is what rows name by one number.
type lane struct{ org, pool, tier, model string }

// numbers remembers the ids of words or lanes. What a transaction added is
// forgotten when it fails.
type numbers[K comparable] struct {
	known map[K]int64
	fresh []K
}

func (n *numbers[K]) of(key K, find func() (int64, error)) (int64, error) {
	if id, ok := n.known[key]; ok {
		return id, nil
	}
	id, err := find()
	if err != nil {
		return 0, err
	}
	if n.known == nil {
		n.known = map[K]int64{}
	}
	n.known[key] = id
	n.fresh = append(n.fresh, key)
	return id, nil
}

func (n *numbers[K]) end(committed bool) {
	if !committed {
		for _, key := range n.fresh {
			delete(n.known, key)
		}
	}
	n.fresh = n.fresh[:0]
}

// word gives the id of a word inside a transaction, writing it where it is new.
func (j *Journal) word(text string) (int64, error) {
	return j.words.of(text, func() (int64, error) {
		id, err := findWord(j.w, text)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
		return j.w.insert("INSERT INTO word(text) VALUES (?)", text)
	})
}

// findWord is sql.ErrNoRows where nothing written so far uses the word.
func findWord(l *link, text string) (id int64, err error) {
	err = l.one([]any{&id}, "SELECT id FROM word WHERE text = ?", text)
	return id, err
}

func (j *Journal) lane(n lane) (int64, error) {
	return j.lanes.of(n, func() (int64, error) {
		var id int64
		err := j.w.one([]any{&id}, "SELECT id FROM lane WHERE org = ? AND pool = ? AND tier = ? AND model = ?", n.org, n.pool, n.tier, n.model)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
		return j.w.insert("INSERT INTO lane(org, pool, tier, model) VALUES (?, ?, ?, ?)", n.org, n.pool, n.tier, n.model)
	})
}
