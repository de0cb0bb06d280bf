package main

import "github.com/pion/rtp"

const fileBytesMax = 64 << 20 // what an endless picture may take

// wholeFile cuts the file into payloads as it is: no header tells where a payload belongs, so one that is missing takes the picture with it.
type wholeFile struct {
	file  []byte
	next  uint16 // sequence number
	whole bool   // nothing of the picture is missing so far
}

// Payload cuts a file.
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
