package emulator

import (
	"net"
	"net/http"
)

// breakConn resets the connection: on TCP the peer sees a real reset, not an
// orderly end. Without a connection of its own to break, it aborts the
// handler, which closes whatever there is.
func breakConn(rw http.ResponseWriter) {
	c, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // only a closed connection fails here
	}
	_ = c.Close()
}

// flush sends what was written so far. Without a way to flush it goes out
// later, which only changes when.
func flush(rw http.ResponseWriter) { _ = http.NewResponseController(rw).Flush() }
