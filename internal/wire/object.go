package wire

// object is a JSON object as a list of its members, in order, their values as
// they stand. It is how a streamed Message keeps the bytes and the order that
// the server gave it.
type object []objectMember

type objectMember struct{ name, value []byte }

// readObject splits the object the cursor is on; nil, with the value skipped,
// when it is something else. The members point into the cursor's bytes.
func readObject(o object, c *cursor) object {
	if !c.enter('{') {
		c.raw()
		return nil
	}
	o = o[:0]
	for name, ok := c.member(); ok; name, ok = c.member() {
		o = append(o, objectMember{name, c.raw()})
	}
	return o
}

// get is the value of a member; nil when there is none.
func (o object) get(name string) []byte {
	for _, m := range o {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

// set gives a member a value in its place, or adds it at the end.
func (o object) set(name, value []byte) object {
	for i := range o {
		if string(o[i].name) == string(name) {
			o[i].value = value
			return o
		}
	}
	return append(o, objectMember{name, value})
}

// append writes the object to dst.
func (o object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, m.name...)
		dst = append(dst, '"', ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}
