package main

import (
	uecho "github.com/cybergarage/uecho-go/net/echonet"
	"netdyno.dev/contender/echonet"
)

// startDevice starts a node with the lighting. The library derives the rest of the node profile from its objects.
func startDevice(seed uint64) error {
	lighting, err := uecho.NewDevice(uecho.WithDeviceCode(echonet.Lighting))
	if err != nil {
		return err
	}
	if err := lighting.SetOperatingStatus(true); err != nil {
		return err
	}
	node := uecho.NewLocalNode(
		uecho.WithLocalNodeManufacturerCode(echonet.ManufacturerCode),
		uecho.WithLocalNodeDevices(lighting),
	)
	profile, err := node.NodeProfile()
	if err != nil {
		return err
	}
	// The library leaves these empty. Its NodeProfile can only set a version of one byte and an identification number without the FE.
	for code, value := range map[uecho.PropertyCode][]byte{
		uecho.NodeProfileClassOperatingStatus:      {uecho.NodeProfileClassBooting},
		uecho.NodeProfileClassVersionInformation:   {1, 13, 1, 0},
		uecho.NodeProfileClassIdentificationNumber: echonet.Identification(seed),
	} {
		if err := profile.SetPropertyData(code, value); err != nil {
			return err
		}
	}
	return node.Start()
}
