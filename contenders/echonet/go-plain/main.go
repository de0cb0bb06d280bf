// Command go-plain is the echonet workload on plain sockets: ../PLAIN.md.
package main

import (
	"runtime"
	"strings"

	"netdyno.dev/contender/echonet"
)

func main() {
	lab, setup, params := echonet.Begin()
	if !params.Local.Is4() || !params.Peer.Is4() {
		lab.Unsupported("IPv4 only")
	}
	lab.Ready("plain sockets", strings.TrimPrefix(runtime.Version(), "go"))
	if setup.Role == "controller" {
		echonet.ServeRunner(lab, setup, params, &controller{params: params})
		return
	}
	link, err := openLink(params.Local)
	if err != nil {
		lab.Failed(err.Error())
	}
	device := newDevice(echonet.Identification(setup.Seed))
	if err := device.announce(link); err != nil {
		lab.Failed(err.Error())
	}
	go func() { lab.Failed(device.run(link).Error()) }()
	echonet.ServeDevice(lab)
}
