package mjpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	maxComponents = 4
	tableValues   = 64
)

var (
	errCut       = errors.New("truncated segment")
	errMalformed = errors.New("malformed segment")
)

type component struct{ sampling, table byte }

// Picture contains the parts of a baseline JPEG file that affect decoding (ITU-T T.81, Annex B), and the offset of its scan.
type Picture struct {
	Width, Height uint16
	ScanAt        int

	components   []component
	quantisation [4]*[tableValues]uint16
	huffman      [4][]byte // DC 0, AC 0, DC 1, AC 1
	restart      uint16
}

// Parse parses the headers of a file, up to its scan. The picture points into the file.
func Parse(jpeg []byte) (*Picture, error) {
	if !bytes.HasPrefix(jpeg, []byte{0xFF, 0xD8}) {
		return nil, errors.New("no SOI at the beginning")
	}
	picture := &Picture{}
	for at := 2; ; {
		// Any number of fill bytes may precede a marker.
		for at+2 <= len(jpeg) && jpeg[at] == 0xFF && jpeg[at+1] == 0xFF {
			at++
		}
		if at+4 > len(jpeg) || jpeg[at] != 0xFF {
			return nil, fmt.Errorf("no marker at byte %d", at)
		}
		marker, end := jpeg[at+1], at+2+int(binary.BigEndian.Uint16(jpeg[at+2:]))
		if end < at+4 || end > len(jpeg) {
			return nil, errCut
		}
		segment, good := jpeg[at+4:end], true
		at = end
		switch {
		case marker == 0xDB:
			good = picture.readQuantisation(segment)
		case marker == 0xC4:
			good = picture.readHuffman(segment)
		case marker == 0xC0 || marker == 0xC1:
			good = picture.readFrame(segment)
		case marker >= 0xC2 && marker <= 0xCF:
			return nil, fmt.Errorf("coding process %02x is not sequential with Huffman codes", marker)
		case marker == 0xDD:
			if good = len(segment) >= 2; good {
				picture.restart = binary.BigEndian.Uint16(segment)
			}
		case marker == 0xDA:
			picture.ScanAt = at
			if !picture.isUsualScan(segment) {
				return nil, errors.New("unsupported scan header")
			}
			return picture, nil
		}
		if !good {
			return nil, errMalformed
		}
	}
}

// ScanEnd returns the end of the entropy-coded data, including restart markers: the first other marker or its fill bytes.
func (p *Picture) ScanEnd(jpeg []byte) int {
	for from := p.ScanAt; from < len(jpeg); {
		found := bytes.IndexByte(jpeg[from:], 0xFF)
		if found < 0 {
			return len(jpeg)
		}
		at := from + found
		behind := at + 1
		for behind < len(jpeg) && jpeg[behind] == 0xFF {
			behind++
		}
		if behind == len(jpeg) || (jpeg[behind] != 0x00 && (jpeg[behind] < 0xD0 || jpeg[behind] > 0xD7)) {
			return at
		}
		from = behind + 1
	}
	return len(jpeg)
}

// Canonical returns the canonical form, or nil if a quantisation table is missing. jpeg is the parsed file.
func (p *Picture) Canonical(jpeg []byte) []byte {
	form := binary.BigEndian.AppendUint16(nil, p.Width)
	form = binary.BigEndian.AppendUint16(form, p.Height)
	form = append(form, byte(len(p.components)))
	for _, component := range p.components {
		if int(component.table) >= len(p.quantisation) || p.quantisation[component.table] == nil {
			return nil
		}
		form = append(form, component.sampling)
		for _, value := range p.quantisation[component.table] {
			form = binary.BigEndian.AppendUint16(form, value)
		}
	}
	form = binary.BigEndian.AppendUint16(form, p.restart)
	for i, table := range p.huffman {
		if table == nil {
			form = append(form, defaultHuffman[i]...)
		}
		form = append(form, table...)
	}
	return append(form, jpeg[p.ScanAt:p.ScanEnd(jpeg)]...)
}

func (p *Picture) readQuantisation(segment []byte) bool {
	for len(segment) > 0 {
		id, width := int(segment[0]&0x0F), 1
		if segment[0]>>4 == 1 {
			width = 2
		}
		if id >= len(p.quantisation) || len(segment) < 1+width*tableValues {
			return false
		}
		table := &[tableValues]uint16{}
		for i := range table {
			for _, part := range segment[1+width*i : 1+width*(i+1)] {
				table[i] = table[i]<<8 | uint16(part)
			}
		}
		p.quantisation[id] = table
		segment = segment[1+width*tableValues:]
	}
	return true
}

func (p *Picture) readHuffman(segment []byte) bool {
	const counts = 16
	for len(segment) > 0 {
		slot, length := int(segment[0]&0x0F)*2+int(segment[0]>>4), 1+counts
		if slot >= len(p.huffman) || len(segment) < length {
			return false
		}
		for _, count := range segment[1 : 1+counts] {
			length += int(count)
		}
		if len(segment) < length {
			return false
		}
		p.huffman[slot] = segment[1:length]
		segment = segment[length:]
	}
	return true
}

func (p *Picture) readFrame(segment []byte) bool {
	if len(segment) < 6 || segment[0] != 8 || segment[5] == 0 || segment[5] > maxComponents || len(segment) != 6+3*int(segment[5]) {
		return false
	}
	p.Height, p.Width = binary.BigEndian.Uint16(segment[1:]), binary.BigEndian.Uint16(segment[3:])
	p.components = nil
	for at := 6; at < len(segment); at += 3 {
		p.components = append(p.components, component{segment[at+1], segment[at+2]})
	}
	return true
}

// isUsualScan reports whether the scan has all components, the first with the tables 0 and the others with the tables 1, as
// RFC 2435 requires.
func (p *Picture) isUsualScan(segment []byte) bool {
	count := len(p.components)
	if count == 0 || len(segment) != 4+2*count || int(segment[0]) != count {
		return false
	}
	for i := range p.components {
		if tables := segment[2+2*i]; (i == 0 && tables != 0x00) || (i > 0 && tables != 0x11) {
			return false
		}
	}
	return true
}

// ITU-T T.81, K.3: DC 0, AC 0, DC 1, AC 1.
var defaultHuffman = [4]string{
	"\x00\x01\x05\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b",
	"\x00\x02\x01\x03\x03\x02\x04\x03\x05\x05\x04\x04\x00\x00\x01\x7d\x01\x02\x03\x00\x04\x11\x05\x12\x21\x31\x41\x06" +
		"\x13\x51\x61\x07\x22\x71\x14\x32\x81\x91\xa1\x08\x23\x42\xb1\xc1\x15\x52\xd1\xf0\x24\x33\x62\x72\x82\x09\x0a\x16" +
		"\x17\x18\x19\x1a\x25\x26\x27\x28\x29\x2a\x34\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54\x55" +
		"\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x83\x84\x85\x86\x87\x88\x89" +
		"\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba" +
		"\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea" +
		"\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa",
	"\x00\x03\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b",
	"\x00\x02\x01\x02\x04\x04\x03\x04\x07\x05\x04\x04\x00\x01\x02\x77\x00\x01\x02\x03\x11\x04\x05\x21\x31\x06\x12\x41" +
		"\x51\x07\x61\x71\x13\x22\x32\x81\x08\x14\x42\x91\xa1\xb1\xc1\x09\x23\x33\x52\xf0\x15\x62\x72\xd1\x0a\x16\x24\x34" +
		"\xe1\x25\xf1\x17\x18\x19\x1a\x26\x27\x28\x29\x2a\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54" +
		"\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x82\x83\x84\x85\x86\x87" +
		"\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8" +
		"\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9" +
		"\xea\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa",
}
