package main

import (
	"net"
	"net/netip"
)

const (
	codes        = 128 // EPC 80 to FF
	listMax      = 15  // codes of a property map in its shorter form
	instanceList = 0xD5
)

var (
	nodeProfile = eoj{0x0E, 0xF0, 0x01}
	lighting    = eoj{0x02, 0x91, 0x01}
)

type access byte

const (
	readable access = 1 << iota
	writable
	announced
)

// slot is a property slot; it is absent without access.
type slot struct {
	access access
	value  []byte
}

type object struct {
	eoj   eoj
	slots [codes]slot
}

func (o *object) add(epc byte, access access, value ...byte) {
	o.slots[epc-epcMin] = slot{access, value}
}

// addMaps adds the maps. They are readable, so all of them exist before the map of readable properties is built.
func (o *object) addMaps() {
	for epc := byte(0x9D); epc <= 0x9F; epc++ {
		o.add(epc, readable)
	}
	o.addMap(0x9D, announced)
	o.addMap(0x9E, writable)
	o.addMap(0x9F, readable)
}

// addMap adds a property map of the codes with this access, as a list or a bitmap.
func (o *object) addMap(epc byte, wanted access) {
	var bitmap [17]byte
	list := []byte{0}
	for code, slot := range o.slots {
		if slot.access&wanted != 0 {
			list = append(list, byte(epcMin+code))
			bitmap[1+code%16] |= 1 << (code / 16)
		}
	}
	list[0] = byte(len(list) - 1)
	bitmap[0] = list[0]
	if list[0] <= listMax {
		o.add(epc, readable, list...)
	} else {
		o.add(epc, readable, bitmap[:]...)
	}
}

// device is a list of objects that answer requests.
type device struct {
	objects []*object
	answer  writer
}

func newDevice(identification []byte) *device {
	profile := &object{eoj: nodeProfile}
	profile.add(0x80, readable|announced, 0x30)
	profile.add(0x82, readable, 1, 13, 1, 0) // 1.13, format 1
	profile.add(0x83, readable, identification...)
	profile.add(0x8A, readable, 0, 0, 0x0B)
	profile.add(0xD3, readable, 0, 0, 1)
	profile.add(0xD4, readable, 0, 2)
	profile.add(instanceList, announced, 1, 2, 0x91, 1)
	profile.add(0xD6, readable, 1, 2, 0x91, 1)
	profile.add(0xD7, readable, 1, 2, 0x91)
	profile.addMaps()
	light := &object{eoj: lighting}
	light.add(0x80, readable|writable|announced, 0x30)
	light.add(0x81, readable|writable|announced, 0)
	light.add(0x82, readable, 0, 0, 0x52, 0) // appendix, release R
	light.add(0x88, readable|announced, 0x42)
	light.add(0x8A, readable, 0, 0, 0x0B)
	light.add(0xB6, readable|writable, 0x41)
	light.addMaps()
	return &device{objects: []*object{profile, light}}
}

// announce sends D5 to the group, as a node does at its start.
func (d *device) announce(link *net.UDPConn) error {
	profile := d.objects[0]
	d.answer.begin(1, profile.eoj, profile.eoj, inf)
	d.answer.put(instanceList, profile.slots[instanceList-epcMin].value)
	_, err := link.WriteToUDPAddrPort(d.answer.bytes(), group)
	return err
}

// run answers until the socket fails.
func (d *device) run(link *net.UDPConn) error {
	var buffer [datagramsMax]byte
	var request frame
	for {
		length, from, err := link.ReadFromUDPAddrPort(buffer[:])
		if err != nil {
			return err
		}
		if !request.parse(buffer[:length]) {
			continue
		}
		for _, object := range d.objects {
			if !object.isMeant(request.deoj) {
				continue
			}
			to := netip.AddrPortFrom(from.Addr(), port) // regardless of the source port
			answered, toGroup := d.handle(object, &request)
			if !answered {
				continue
			}
			if toGroup {
				to = group
			}
			if _, err := link.WriteToUDPAddrPort(d.answer.bytes(), to); err != nil {
				return err
			}
		}
	}
}

// isMeant reports whether a request addresses this object. Instance 0 addresses all instances of a class.
func (o *object) isMeant(deoj eoj) bool {
	return o.eoj[0] == deoj[0] && o.eoj[1] == deoj[1] && (deoj[2] == 0 || o.eoj[2] == deoj[2])
}

// handle writes the answer of an object. It reports whether there is one, and whether it goes to the group.
func (d *device) handle(o *object, request *frame) (answered, toGroup bool) {
	answer := &d.answer
	answer.begin(request.tid, o.eoj, request.seoj, getRes)
	finish := func(all bool, good, bad byte) {
		if !all {
			good = bad
		}
		answer.setESV(good)
	}
	switch request.esv {
	case get:
		finish(o.readAll(request.properties, readable, answer), getRes, getSNA)
		return true, false
	case infReq:
		all := o.readAll(request.properties, readable|announced, answer)
		finish(all, inf, infSNA)
		return true, all
	case setI:
		all := o.writeAll(request.properties, answer)
		answer.setESV(setISNA)
		return !all, false
	case setC:
		finish(o.writeAll(request.properties, answer), setRes, setCSNA)
		return true, false
	case setGet:
		all := o.writeAll(request.properties, answer)
		answer.list()
		all = o.readAll(request.gets, readable, answer) && all
		finish(all, setGetRes, setGetSNA)
		return true, false
	case infC:
		for range request.properties.count {
			epc, _ := request.properties.next()
			answer.put(epc, nil)
		}
		answer.setESV(infCRes)
		return true, false
	default: // an answer, or an announcement of another node
		return false, false
	}
}

// writeAll writes the values. The answer has PDC 0 for accepted values, and the original value for refused ones. It reports whether all were accepted.
func (o *object) writeAll(properties list, answer *writer) bool {
	all := true
	for range properties.count {
		epc, edt := properties.next()
		slot := &o.slots[epc-epcMin]
		if slot.access&writable != 0 && len(edt) == len(slot.value) {
			copy(slot.value, edt)
			answer.put(epc, nil)
		} else {
			all = false
			answer.put(epc, edt)
		}
	}
	return all
}

// readAll reads the values. The answer has PDC 0 for unreadable values and for those that do not fit. It reports whether there were none of these.
func (o *object) readAll(properties list, wanted access, answer *writer) bool {
	all := true
	for others := int(properties.count) - 1; others >= 0; others-- {
		epc, _ := properties.next()
		slot := &o.slots[epc-epcMin]
		if slot.access&wanted != 0 && answer.hasRoom(len(slot.value), others) {
			answer.put(epc, slot.value)
		} else {
			all = false
			answer.put(epc, nil)
		}
	}
	return all
}
