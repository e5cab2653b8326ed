package sched

import "time"

// outbox holds the actions of one Step. They live in slices that are reused;
// when one grows, pointers into its old array stay good for this Step.
type outbox struct {
	acts     []Action
	persists []Persist
	sends    []Send
	settles  []Settle
	notes    []Note
	aborts   []Abort
	wants    []Want
}

func (o *outbox) reset() {
	o.acts, o.persists, o.sends = o.acts[:0], o.persists[:0], o.sends[:0]
	o.settles, o.notes, o.aborts, o.wants = o.settles[:0], o.notes[:0], o.aborts[:0], o.wants[:0]
}

func (o *outbox) send(p Persist, s Send) {
	o.persists = append(o.persists, p)
	o.sends = append(o.sends, s)
	o.acts = append(o.acts, &o.persists[len(o.persists)-1], &o.sends[len(o.sends)-1])
}

func (o *outbox) settle(s Settle) {
	o.settles = append(o.settles, s)
	o.acts = append(o.acts, &o.settles[len(o.settles)-1])
}

func (o *outbox) abort(id AttemptID) {
	o.aborts = append(o.aborts, Abort{Attempt: id})
	o.acts = append(o.acts, &o.aborts[len(o.aborts)-1])
}

func (o *outbox) want(w Want) {
	o.wants = append(o.wants, w)
	o.acts = append(o.acts, &o.wants[len(o.wants)-1])
}

func (o *outbox) note(n Note) {
	o.notes = append(o.notes, n)
	o.acts = append(o.acts, &o.notes[len(o.notes)-1])
}

// say notes something about a lane that has no end known.
func (c *Core) say(kind NoteKind, l *lane, class Class, dim Dim, value float64) {
	c.out.note(Note{Kind: kind, Lane: l.id, Class: class, Dim: dim, Value: value})
}

// sayUntil notes that a lane stopped, and until when as far as is known.
func (c *Core) sayUntil(kind NoteKind, l *lane, class Class, until time.Duration) {
	c.out.note(Note{Kind: kind, Lane: l.id, Class: class, Until: until})
}
