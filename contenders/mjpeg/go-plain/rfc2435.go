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
	pixelsMax          = 2040 // the header stores multiples of eight in a byte
	hasRestarts        = 64   // of the type
	tablesFollow       = 128  // from this Q on, the packet contains the tables
	tablesInBand       = 255
	scanBytesMax       = 1 << 24 // an offset has 24 bits
)

// framing packetizes and reassembles JPEG files.
type framing interface {
	rtp.Payloader
	// check returns an error if a JPEG file cannot be sent.
	check(file []byte) error
	// take returns a file when its last packet arrives. The file is valid until the next call.
	take(packet *rtp.Packet) []byte
}

// rfc2435 sends the scan and the headers of RFC 2435, from which a receiver can reconstruct a file.
type rfc2435 struct {
	timestamp uint32
	picture   picture // being received; its scan is the buffer
	received  int     // bytes of the scan
	known     map[byte][]byte
	file      []byte
}

// Payload splits a file into payloads of at most mtu bytes. It returns none for a file that check rejects.
func (*rfc2435) Payload(mtu uint16, file []byte) [][]byte {
	p, err := sendable(file)
	if err != nil {
		return nil
	}
	var payloads [][]byte
	for offset := 0; offset < len(p.scan); {
		payload := make([]byte, 0, mtu)
		payload = binary.BigEndian.AppendUint32(payload, uint32(offset)) // its first byte, the type-specific one, is 0
		kind := p.subsampling
		if p.restartInterval > 0 {
			kind += hasRestarts
		}
		payload = append(payload, kind, tablesInBand, byte(p.width/8), byte(p.height/8))
		if p.restartInterval > 0 {
			payload = binary.BigEndian.AppendUint16(payload, p.restartInterval)
			payload = append(payload, 0xFF, 0xFF) // packets are not aligned with restart intervals: section 3.1.7
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
		err = fmt.Errorf("%dx%d pixels: RFC 2435 requires multiples of 8 up to %d", p.width, p.height, pixelsMax)
	case len(p.scan) == 0 || len(p.scan) > scanBytesMax:
		err = fmt.Errorf("scan of %d bytes is too long", len(p.scan))
	}
	return p, err
}

// take copies the part of a packet to its offset. Incomplete and invalid pictures are dropped.
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

var errShort = errors.New("truncated payload header")

// readHeaders returns the offset of a part of the scan, and the part. It stores the picture's properties from the headers.
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
		return 0, nil, fmt.Errorf("unknown type %d", kind)
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

// learn stores tables. Those of Q 128 to 254 are constant for the session and need not be sent with each frame.
func (r *rfc2435) learn(q byte, tables []byte, sixteenBits bool) error {
	switch {
	case sixteenBits:
		return errors.New("quantisation tables with 16-bit values")
	case len(tables) == 0 && q != tablesInBand:
		r.picture.tables = r.known[q]
	case len(tables) != 2*tableBytes:
		return fmt.Errorf("quantisation tables of %d bytes", len(tables))
	default:
		if r.known == nil {
			r.known = map[byte][]byte{}
		}
		r.picture.tables = append(r.known[q][:0], tables...)
		r.known[q] = r.picture.tables
	}
	return nil
}

// The tables of ITU-T T.81, K.1 and K.2, in zigzag order, which Q 1 to 99 scales: RFC 2435, section 4.2.
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
