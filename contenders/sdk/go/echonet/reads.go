package echonet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"netdyno.dev/contender"
)

const (
	// NodeProfile is the object that every node has. Lighting is the device's other object, a mono-functional lighting.
	NodeProfile = 0x0EF001
	Lighting    = 0x029101

	// payloadBytes is the length of the payload in the identification number.
	payloadBytes        = 13
	identificationBytes = 17
	maxListedCodes      = 15
	bitmapBytes         = 17
	firstCode           = 0x80
)

// Read is a property to read.
type Read struct {
	Object   uint32
	Property byte
}

// Reads contains the twelve reads of a round, in order.
var Reads = [...]Read{
	{NodeProfile, 0x80}, {NodeProfile, 0x82}, {NodeProfile, 0x83}, {NodeProfile, 0x8A}, {NodeProfile, 0x9D}, {NodeProfile, 0x9E},
	{NodeProfile, 0x9F}, {NodeProfile, 0xD3}, {NodeProfile, 0xD4}, {NodeProfile, 0xD6}, {NodeProfile, 0xD7}, {Lighting, 0x80},
}

const identificationAt = 2 // of Reads

// String describes the read for messages.
func (r Read) String() string { return fmt.Sprintf("object %06X, property %02X", r.Object, r.Property) }

func textOf(value []byte) string {
	if value == nil {
		return "refused"
	}
	return hex.EncodeToString(value)
}

// readableCodes are the codes that every map of readable properties must contain. Several libraries lose others.
var readableCodes = []byte{0x80, 0x82, 0x83, 0x8A, 0x9D, 0x9E, 0x9F}

// Payload returns the last bytes of the device's identification number.
func Payload(seed uint64) []byte {
	payload := make([]byte, payloadBytes)
	contender.Fill(payload, seed, 0, 0)
	return payload
}

// check returns an error if a value is wrong.
func (r Read) check(value []byte, seed uint64) error {
	refused := func(wanted string) error {
		return fmt.Errorf("%v: %s, not %s", r, textOf(value), wanted)
	}
	switch r.Property {
	case 0x82:
		if len(value) != 4 {
			return refused("four bytes")
		}
	case 0x83:
		payload := Payload(seed)
		if len(value) != identificationBytes || value[0] != 0xFE || !bytes.HasSuffix(value, payload) {
			return refused("fe, three bytes, " + hex.EncodeToString(payload))
		}
	case 0x8A:
		if len(value) != 3 {
			return refused("three bytes")
		}
	case 0x9D, 0x9E, 0x9F:
		codes, ok := mapCodes(value)
		if !ok {
			return refused("a property map")
		}
		for _, code := range readableCodes {
			if r.Property == 0x9F && bytes.IndexByte(codes, code) < 0 {
				return refused(fmt.Sprintf("a property map with %02x", code))
			}
		}
	default:
		return r.checkExact(value, refused)
	}
	return nil
}

func (r Read) checkExact(value []byte, refused func(string) error) error {
	// Several libraries count the node profile as a class, which the contract tolerates.
	wanted := map[byte][][]byte{
		0x80: {{0x30}},
		0xD3: {{0, 0, 1}},
		0xD4: {{0, 2}},
		0xD6: {{1, 2, 0x91, 1}},
		0xD7: {{1, 2, 0x91}, {2, 2, 0x91, 0x0E, 0xF0}, {2, 0x0E, 0xF0, 2, 0x91}},
	}[r.Property]
	for _, one := range wanted {
		if bytes.Equal(value, one) {
			return nil
		}
	}
	return refused(hex.EncodeToString(wanted[0]))
}

// same reports whether two values are equal. The order of the codes in a map is ignored.
func (r Read) same(value, other []byte) bool {
	if bytes.Equal(value, other) {
		return true
	}
	if r.Property < 0x9D || r.Property > 0x9F || len(value) != len(other) {
		return false
	}
	codes, ok := mapCodes(value)
	others, _ := mapCodes(other) // valid, because verify checked it
	slices.Sort(codes)
	slices.Sort(others)
	return ok && bytes.Equal(codes, others)
}

// mapCodes parses a property map in either form. The count before a bitmap is ignored, because some libraries write the length.
func mapCodes(value []byte) (codes []byte, ok bool) {
	if len(value) == 0 {
		return nil, false
	}
	if count := int(value[0]); count <= maxListedCodes {
		for _, code := range value[1:] {
			if code < firstCode {
				return nil, false
			}
		}
		return bytes.Clone(value[1:]), len(value) == count+1
	}
	if len(value) != bitmapBytes {
		return nil, false
	}
	for i, bits := range value[1:] {
		for bit := range 8 {
			if bits>>bit&1 == 1 {
				codes = append(codes, byte(firstCode+bit<<4+i))
			}
		}
	}
	return codes, true
}
