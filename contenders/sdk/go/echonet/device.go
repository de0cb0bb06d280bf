package echonet

import "netdyno.dev/contender"

// ManufacturerCode is the manufacturer code of a device if its library allows a choice: 00 00 0B.
const ManufacturerCode = 0x00000B

// Identification returns the value of the node profile's identification number.
func Identification(seed uint64) []byte {
	return append([]byte{0xFE, 0, 0, ManufacturerCode}, Payload(seed)...)
}

// ServeDevice signals to the controller that the device answers, and handles the lab's events until stop.
func ServeDevice(lab *contender.Lab) {
	lab.Signal("controller", map[string]bool{"ready": true})
	lab.Connected([]uint64{})
	lab.RunUncounted()
}
