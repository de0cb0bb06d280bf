// Command go-plain is the server of the kv workload in Go, with the standard library only: one goroutine per connection, and one
// sync.Map. With the argument unbuffered, it is the contender go-article, which reads each byte from the socket separately.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"netdyno.dev/contender"
)

func main() {
	lab, setup := contender.Connect()
	if setup.Role != "server" {
		lab.Unsupported(fmt.Sprintf("the role %s; this contender has only the server", setup.Role))
	}
	lab.Ready("net", strings.TrimPrefix(runtime.Version(), "go"))
	listener, err := net.Listen("tcp", net.JoinHostPort(setup.Local, "0"))
	if err != nil {
		lab.Failed(err.Error())
	}
	server := server{isBuffered: len(os.Args) < 2 || os.Args[1] != "unbuffered"}
	go func() { lab.Failed(fmt.Sprintf("the server ended: %v", server.serve(listener))) }()
	lab.Signal("load", map[string]int{"port": listener.Addr().(*net.TCPAddr).Port})
	lab.Connected([]uint64{})
	lab.RunUncounted()
}
