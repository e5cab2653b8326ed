package emulator

import "time"

// spoil draws what goes wrong with an admitted exchange and moves its End
// there.
func (m *Model) spoil(now time.Duration, x *Exchange, k key) {
	if x.Other {
		return
	}
	f := &m.sc.Flaky
	switch {
	case x.Fault != NoFault: // forced
	case k.chance(drawBefore, f.Before):
		x.Fault = DropBefore
	case k.chance(drawAfter, f.After):
		x.Fault = DropAfter
	case x.Stream && k.chance(drawCut, f.Cut):
		x.Fault = Truncate
	case x.Stream && m.sc.Storm.share(now) > 0 && k.chance(drawStormStream, m.sc.Storm.Streams):
		x.Fault = StreamError
		if k.bits(drawStormStream)&1 == 0 {
			x.Fault = ErrorFirst // the usual place (facts/claude-api.md 1.5)
		}
	}
	switch x.Fault {
	case NoFault:
	case ErrorFirst:
		x.breakAt(x.FirstToken)
		x.Usage = Usage{}
	case DropBefore:
		x.breakAt(now + time.Duration(k.uniform(drawBeforeAt)*float64(x.FirstByte-now)))
		x.Status = 0
	default:
		m.breakStream(x, k)
	}
}

// breakStream ends a stream after a share of its output. What is not a stream
// is produced whole, and breaks while it is sent.
func (m *Model) breakStream(x *Exchange, k key) {
	if !x.Stream {
		x.Fault = DropAfter // nothing else can befall it after its first byte
		return
	}
	u := k.uniform(drawCutAt)
	x.breakAt(x.FirstToken + time.Duration(u*float64(x.End-x.FirstToken)))
}

// breakAt ends an exchange early; what was produced until then is billed.
func (x *Exchange) breakAt(at time.Duration) {
	x.Usage.Output = x.Produced(at)
	x.End = at
	x.FirstToken = min(x.FirstToken, at)
	x.FirstByte = min(x.FirstByte, at)
}

// share is the part of requests that the storm refuses at now.
func (s *Storm) share(now time.Duration) float64 {
	at := now - s.Start
	if at < 0 || len(s.Phases) == 0 {
		return 0
	}
	if s.Every > 0 {
		at %= s.Every
	}
	for _, p := range s.Phases {
		if at < p.For {
			return p.Share
		}
		at -= p.For
	}
	return 0
}
