package main

import "github.com/pion/rtp"

const fileBytesMax = 64 << 20 // bounds the memory of a picture without an end

// wholeFile splits the file into payloads unchanged. No header contains the offset of a payload, so a lost one loses the picture.
type wholeFile struct {
	file  []byte
	next  uint16 // expected sequence number
	whole bool   // no packet of the picture has been lost
}

// Payload splits a file.
func (*wholeFile) Payload(mtu uint16, file []byte) [][]byte {
	var payloads [][]byte
	for len(file) > 0 {
		part := min(int(mtu), len(file))
		payloads = append(payloads, file[:part])
		file = file[part:]
	}
	return payloads
}

func (*wholeFile) check([]byte) error { return nil }

func (w *wholeFile) take(packet *rtp.Packet) []byte {
	if len(packet.Payload) > 1 && packet.Payload[0] == 0xFF && packet.Payload[1] == soi {
		w.file, w.whole = w.file[:0], true
	} else if packet.SequenceNumber != w.next || len(w.file) > fileBytesMax {
		w.whole = false
	}
	w.next = packet.SequenceNumber + 1
	if w.whole {
		w.file = append(w.file, packet.Payload...)
	}
	if !packet.Marker || !w.whole {
		return nil
	}
	w.whole = false
	return w.file
}
