package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// The JPEG markers that are parsed or written.
const (
	soi  = 0xD8
	eoi  = 0xD9
	sof0 = 0xC0
	dht  = 0xC4
	sos  = 0xDA
	dqt  = 0xDB
	dri  = 0xDD
)

const tableBytes = 64 // a quantisation table with 8-bit values

// picture contains the parts of a JPEG file that RTP transports.
type picture struct {
	width, height   int
	subsampling     byte   // RFC 2435, section 4.1: 0 for 4:2:2, 1 for 4:2:0
	tables          []byte // two quantisation tables: luma and chroma
	restartInterval uint16 // in MCUs; 0 if there is none
	scan            []byte // includes the EOI and any following bytes
}

// parsePicture parses the segments up to the scan. It assumes the default Huffman tables, because RTP cannot transport others.
func parsePicture(file []byte) (picture, error) {
	var p picture
	tables := map[byte][]byte{}
	components := []byte(nil) // for each: number, sampling, table
	if len(file) < 2 || file[0] != 0xFF || file[1] != soi {
		return p, errors.New("not a JPEG file: no SOI")
	}
	for rest := file[2:]; ; {
		if len(rest) < 4 || rest[0] != 0xFF {
			return p, errors.New("not a JPEG file: missing marker")
		}
		marker, length := rest[1], int(binary.BigEndian.Uint16(rest[2:]))+2
		if length < 4 || length > len(rest) {
			return p, fmt.Errorf("not a JPEG file: segment %02X is truncated", marker)
		}
		body := rest[4:length]
		rest = rest[length:]
		switch {
		case marker == dqt:
			for ; len(body) >= 1+tableBytes; body = body[1+tableBytes:] {
				if body[0] > 0x0F {
					return p, errors.New("quantisation table with 16-bit values")
				}
				tables[body[0]] = body[1 : 1+tableBytes]
			}
		case marker == sof0 && len(body) == 6+3*3:
			p.height, p.width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
			components = body[6:]
		case marker == dri && len(body) == 2:
			p.restartInterval = binary.BigEndian.Uint16(body)
		case marker == sos:
			p.scan = rest
			return p, p.finish(components, tables)
		case marker&0xF0 == 0xC0 && marker != dht:
			return p, fmt.Errorf("not baseline JPEG of three components: SOF %02X", marker)
		}
	}
}

func (p *picture) finish(components []byte, tables map[byte][]byte) error {
	if components == nil {
		return errors.New("not a JPEG file: no SOF before the scan")
	}
	switch components[1] {
	case 0x21:
		p.subsampling = 0
	case 0x22:
		p.subsampling = 1
	default:
		return fmt.Errorf("sampling %02X: neither 4:2:2 nor 4:2:0", components[1])
	}
	luma, chroma := tables[components[2]], tables[components[5]]
	if luma == nil || chroma == nil || components[4] != 0x11 || components[7] != 0x11 || components[5] != components[8] {
		return errors.New("RFC 2435 cannot represent the tables or sampling of the components")
	}
	p.tables = append(append(make([]byte, 0, 2*tableBytes), luma...), chroma...)
	return nil
}

// The tables of ITU-T T.81, K.3, in the format of a DHT segment: DC 0, AC 0, DC 1, AC 1.
var huffmanTables = fromHex("" +
	"0000010501010101010100000000000000000102030405060708090a0b100002010303020403050504040000017d01020300041105122131410613516107227114" +
	"328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475" +
	"767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7" +
	"e8e9eaf1f2f3f4f5f6f7f8f9fa0100030101010101010101010000000000000102030405060708090a0b1100020102040403040705040400010277000102031104" +
	"052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a5354555657" +
	"58595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2" +
	"d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa")

func fromHex(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err) // the texts are constants
	}
	return bytes
}

// appendFile appends the picture as a JPEG file.
func (p *picture) appendFile(file []byte) []byte {
	segment := func(marker byte, length int) { file = append(file, 0xFF, marker, byte((length+2)>>8), byte(length+2)) }
	file = append(file, 0xFF, soi)
	for i := byte(0); i < 2; i++ {
		segment(dqt, 1+tableBytes)
		file = append(append(file, i), p.tables[int(i)*tableBytes:][:tableBytes]...)
	}
	segment(sof0, 15)
	file = append(file, 8, byte(p.height>>8), byte(p.height), byte(p.width>>8), byte(p.width), 3)
	file = append(file, 1, 0x21+p.subsampling, 0, 2, 0x11, 1, 3, 0x11, 1)
	segment(dht, len(huffmanTables))
	file = append(file, huffmanTables...)
	if p.restartInterval > 0 {
		segment(dri, 2)
		file = binary.BigEndian.AppendUint16(file, p.restartInterval)
	}
	segment(sos, 10)
	file = append(file, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0)
	file = append(file, p.scan...)
	if n := len(p.scan); n < 2 || p.scan[n-2] != 0xFF || p.scan[n-1] != eoi {
		file = append(file, 0xFF, eoi)
	}
	return file
}
