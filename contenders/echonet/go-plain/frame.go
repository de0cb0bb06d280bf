package main

import "encoding/binary"

const (
	ehd1         = 0x10
	ehd2Format1  = 0x81
	atTID        = 2
	atSEOJ       = 4
	atDEOJ       = 7
	atESV        = 10
	atOPC        = 11
	headerBytes  = 12 // up to and including OPC
	propertyMin  = 2  // EPC and PDC
	epcMin       = 0x80
	datagramsMax = 1500
)

// The services.
const (
	setISNA   = 0x50
	setCSNA   = 0x51
	getSNA    = 0x52
	infSNA    = 0x53
	setGetSNA = 0x5E
	setI      = 0x60
	setC      = 0x61
	get       = 0x62
	infReq    = 0x63
	setGet    = 0x6E
	setRes    = 0x71
	getRes    = 0x72
	inf       = 0x73
	infC      = 0x74
	infCRes   = 0x7A
	setGetRes = 0x7E
)

type eoj [3]byte

// frame is a validated datagram. Its lists point into it.
type frame struct {
	tid        uint16
	seoj, deoj eoj
	esv        byte
	properties list // in a SetGet, the properties to set
	gets       list // in a SetGet only
}

// list is a list of encoded properties.
type list struct {
	count byte
	rest  []byte
}

// next removes and returns the first property.
func (l *list) next() (epc byte, edt []byte) {
	end := propertyMin + int(l.rest[1])
	epc, edt = l.rest[0], l.rest[propertyMin:end]
	l.rest = l.rest[end:]
	return epc, edt
}

// parse validates the whole datagram. Bytes after the last property are ignored.
func (f *frame) parse(datagram []byte) bool {
	if len(datagram) < headerBytes+propertyMin || datagram[0] != ehd1 || datagram[1] != ehd2Format1 {
		return false
	}
	f.tid = binary.BigEndian.Uint16(datagram[atTID:])
	f.seoj = eoj(datagram[atSEOJ:])
	f.deoj = eoj(datagram[atDEOJ:])
	f.esv = datagram[atESV]
	two := f.esv == setGet || f.esv == setGetRes || f.esv == setGetSNA
	if !isKnown(f.esv) {
		return false
	}
	var rest []byte
	var ok bool
	if f.properties, rest, ok = takeList(datagram[atOPC:], two); !ok {
		return false
	}
	f.gets = list{}
	if two {
		f.gets, _, ok = takeList(rest, true)
	}
	return ok
}

func isKnown(esv byte) bool {
	switch esv {
	case setISNA, setCSNA, getSNA, infSNA, setGetSNA, setI, setC, get, infReq, setGet, setRes, getRes, inf, infC, infCRes, setGetRes:
		return true
	default:
		return false
	}
}

// takeList removes a list from the front. mayBeEmpty is true for the lists of a SetGet.
func takeList(from []byte, mayBeEmpty bool) (taken list, rest []byte, ok bool) {
	if len(from) == 0 || (from[0] == 0 && !mayBeEmpty) {
		return list{}, nil, false
	}
	taken.count, rest = from[0], from[1:]
	taken.rest = rest
	for range taken.count {
		if len(rest) < propertyMin || rest[0] < epcMin || len(rest)-propertyMin < int(rest[1]) {
			return list{}, nil, false
		}
		rest = rest[propertyMin+int(rest[1]):]
	}
	return taken, rest, true
}

// writer writes one frame at a time.
type writer struct {
	buffer  [datagramsMax]byte
	length  int
	countAt int // of the current list
}

func (w *writer) bytes() []byte { return w.buffer[:w.length] }

func (w *writer) begin(tid uint16, seoj, deoj eoj, esv byte) {
	w.buffer[0], w.buffer[1] = ehd1, ehd2Format1
	binary.BigEndian.PutUint16(w.buffer[atTID:], tid)
	copy(w.buffer[atSEOJ:], seoj[:])
	copy(w.buffer[atDEOJ:], deoj[:])
	w.buffer[atESV] = esv
	w.length = atOPC
	w.list()
}

// list starts the second list of a SetGet.
func (w *writer) list() {
	w.countAt = w.length
	w.buffer[w.length] = 0
	w.length++
}

// hasRoom reports whether there is space for a value, `others` further properties without a value, and the count of a second list.
func (w *writer) hasRoom(pdc, others int) bool {
	return w.length+propertyMin+pdc+others*propertyMin+1 <= len(w.buffer)
}

func (w *writer) put(epc byte, edt []byte) {
	to := w.buffer[w.length:]
	to[0], to[1] = epc, byte(len(edt))
	w.length += propertyMin + copy(to[propertyMin:], edt)
	w.buffer[w.countAt]++
}

func (w *writer) setESV(esv byte) { w.buffer[atESV] = esv }
