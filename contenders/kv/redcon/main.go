// Command redcon is the server of the kv workload on redcon, used as in the example of its documentation: one goroutine per
// connection, and one map behind a lock.
package main

import (
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/tidwall/redcon"
	"netdyno.dev/contender"
)

const module = "github.com/tidwall/redcon"

func main() {
	lab, setup := contender.Connect()
	if setup.Role != "server" {
		lab.Unsupported(fmt.Sprintf("the role %s; this contender has only the server", setup.Role))
	}
	lab.Ready("redcon", contender.ModuleVersion(module))
	listener, err := net.Listen("tcp", net.JoinHostPort(setup.Local, "0"))
	if err != nil {
		lab.Failed(err.Error())
	}
	store := &store{items: map[string][]byte{}}
	go func() {
		err := redcon.Serve(listener, store.handle, nil, nil)
		lab.Failed(fmt.Sprintf("the server ended: %v", err))
	}()
	lab.Signal("load", map[string]int{"port": listener.Addr().(*net.TCPAddr).Port})
	lab.Connected([]uint64{})
	lab.RunUncounted()
}

// store contains the keys.
type store struct {
	lock  sync.RWMutex
	items map[string][]byte
}

func (s *store) handle(conn redcon.Conn, cmd redcon.Command) {
	name := strings.ToLower(string(cmd.Args[0]))
	switch {
	case name == "ping":
		conn.WriteString("PONG")
	case name == "set" && len(cmd.Args) == 3:
		s.lock.Lock()
		s.items[string(cmd.Args[1])] = cmd.Args[2]
		s.lock.Unlock()
		conn.WriteString("OK")
	case name == "get" && len(cmd.Args) == 2:
		s.lock.RLock()
		value, ok := s.items[string(cmd.Args[1])]
		s.lock.RUnlock()
		if !ok {
			conn.WriteNull()
		} else {
			conn.WriteBulk(value)
		}
	default:
		conn.WriteError("ERR unknown command '" + name + "', or wrong number of arguments")
	}
}
