package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pion/rtp"
)

const (
	mainHeaderBytes    = 8
	restartHeaderBytes = 4
	tableHeaderBytes   = 4
	pixelsMax          = 2040 // in eights they fill a byte
	hasRestarts        = 64   // of the type
	tablesFollow       = 128  // Q from which on the tables stand in the packet
	tablesInBand       = 255
	scanBytesMax       = 1 << 24 // an offset has 24 bits
)

// framing is how a JPEG file travels: cut into payloads, and put together again.
type framing interface {
	rtp.Payloader
	// check says why a JPEG file cannot be sent.
	check(file []byte) error
	// take gives a file once its last packet is there, valid until the next call.
	take(packet *rtp.Packet) []byte
}

// rfc2435 sends the scan, and what a receiver needs to make a file of it.
type rfc2435 struct {
	timestamp uint32
	picture   picture // being received; its scan is of so many bytes of room
	received  int     // bytes of it
	known     map[byte][]byte
	file      []byte
}

// Payload cuts a file, so that each payload has at most mtu bytes: of one that check refuses there is none.
func (*rfc2435) Payload(mtu uint16, file []byte) [][]byte {
	p, err := sendable(file)
	if err != nil {
		return nil
	}
	var payloads [][]byte
	for offset := 0; offset < len(p.scan); {
		payload := make([]byte, 0, mtu)
		payload = binary.BigEndian.AppendUint32(payload, uint32(offset)) // its first byte is the type-specific one, 0
		kind := p.subsampling
		if p.restartInterval > 0 {
			kind += hasRestarts
		}
		payload = append(payload, kind, tablesInBand, byte(p.width/8), byte(p.height/8))
		if p.restartInterval > 0 {
			payload = binary.BigEndian.AppendUint16(payload, p.restartInterval)
			payload = append(payload, 0xFF, 0xFF) // packets begin and end anywhere: section 3.1.7
		}
		if offset == 0 {
			payload = append(payload, 0, 0, 0, byte(len(p.tables)))
			payload = append(payload, p.tables...)
		}
		part := min(int(mtu)-len(payload), len(p.scan)-offset)
		payloads = append(payloads, append(payload, p.scan[offset:offset+part]...))
		offset += part
	}
	return payloads
}

func (*rfc2435) check(file []byte) error {
	_, err := sendable(file)
	return err
}

func sendable(file []byte) (picture, error) {
	p, err := parsePicture(file)
	switch {
	case err != nil:
	case p.width > pixelsMax || p.height > pixelsMax || p.width%8 != 0 || p.height%8 != 0:
		err = fmt.Errorf("%dx%d pixels: RFC 2435 has sizes of whole eights, up to %d", p.width, p.height, pixelsMax)
	case len(p.scan) == 0 || len(p.scan) > scanBytesMax:
		err = fmt.Errorf("a scan of %d bytes", len(p.scan))
	}
	return p, err
}

// take puts a packet's part in its place; a picture with a hole, or one that cannot be, is left out.
func (r *rfc2435) take(packet *rtp.Packet) []byte {
	if packet.Timestamp != r.timestamp {
		r.timestamp, r.received, r.picture = packet.Timestamp, 0, picture{scan: r.picture.scan[:0]}
	}
	offset, part, err := r.readHeaders(packet.Payload)
	if err != nil {
		return nil
	}
	end := offset + len(part)
	if end > len(r.picture.scan) {
		if end > cap(r.picture.scan) {
			r.picture.scan = append(make([]byte, 0, 2*end), r.picture.scan...)
		}
		r.picture.scan = r.picture.scan[:end]
	}
	r.received += copy(r.picture.scan[offset:], part)
	if !packet.Marker || r.received != end || r.picture.tables == nil {
		return nil
	}
	r.file = r.picture.appendFile(r.file[:0])
	return r.file
}

var errShort = errors.New("a payload shorter than its headers")

// readHeaders gives the offset of a part of the scan, and the part. What the headers tell of the picture is kept.
func (r *rfc2435) readHeaders(payload []byte) (int, []byte, error) {
	if len(payload) < mainHeaderBytes {
		return 0, nil, errShort
	}
	offset := int(binary.BigEndian.Uint32(payload) & (scanBytesMax - 1))
	kind, q := payload[4], payload[5]
	r.picture.width, r.picture.height = 8*int(payload[6]), 8*int(payload[7])
	r.picture.subsampling = kind &^ hasRestarts
	payload = payload[mainHeaderBytes:]
	if r.picture.subsampling > 1 {
		return 0, nil, fmt.Errorf("type %d is not known", kind)
	}
	if kind&hasRestarts != 0 {
		if len(payload) < restartHeaderBytes {
			return 0, nil, errShort
		}
		r.picture.restartInterval = binary.BigEndian.Uint16(payload)
		payload = payload[restartHeaderBytes:]
	}
	if offset == 0 && q >= tablesFollow {
		if len(payload) < tableHeaderBytes {
			return 0, nil, errShort
		}
		length := int(binary.BigEndian.Uint16(payload[2:]))
		sixteenBits := payload[1] != 0
		payload = payload[tableHeaderBytes:]
		if len(payload) < length {
			return 0, nil, errShort
		}
		if err := r.learn(q, payload[:length], sixteenBits); err != nil {
			return 0, nil, err
		}
		payload = payload[length:]
	} else if offset == 0 {
		r.picture.tables = tablesOf(q)
	}
	return offset, payload, nil
}

// learn keeps tables: those of Q 128 to 254 stay the same for the session, and need not be sent each time.
func (r *rfc2435) learn(q byte, tables []byte, sixteenBits bool) error {
	switch {
	case sixteenBits:
		return errors.New("tables of 16 bits")
	case len(tables) == 0 && q != tablesInBand:
		r.picture.tables = r.known[q]
	case len(tables) != 2*tableBytes:
		return fmt.Errorf("tables of %d bytes", len(tables))
	default:
		if r.known == nil {
			r.known = map[byte][]byte{}
		}
		r.picture.tables = append(r.known[q][:0], tables...)
		r.known[q] = r.picture.tables
	}
	return nil
}

// The tables of ITU-T T.81, K.1 and K.2, in zigzag order, that Q 1 to 99 scales: RFC 2435, section 4.2.
var scaledTables = fromHex("" +
	"100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763" +
	"1112121815182f1a1a2f634238426363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363")

func tablesOf(q byte) []byte {
	if q < 1 || q > 99 {
		return nil
	}
	scale := 200 - 2*int(q)
	if q < 50 {
		scale = 5000 / int(q)
	}
	tables := make([]byte, 2*tableBytes)
	for i, value := range scaledTables {
		tables[i] = byte(min(max((int(value)*scale+50)/100, 1), 255))
	}
	return tables
}
