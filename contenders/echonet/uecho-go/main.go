// Command uecho-go is the library uecho-go as a contender of the echonet workload, in both roles, used as in its examples.
package main

import (
	"netdyno.dev/contender"
	"netdyno.dev/contender/echonet"
)

const module = "github.com/cybergarage/uecho-go"

func main() {
	lab, setup, params := echonet.Begin()
	lab.Ready("uecho-go", contender.ModuleVersion(module))
	if setup.Role == "controller" {
		echonet.ServeController(lab, setup, params, newController(params))
		return
	}
	if err := startDevice(setup.Seed); err != nil {
		lab.Failed(err.Error())
	}
	echonet.ServeDevice(lab)
}
