package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"netdyno.dev/contender/echonet"
)

const searchNs = 1_000_000_000

var itself = eoj{0x05, 0xFF, 0x01}

type controller struct {
	params  echonet.Params
	link    *net.UDPConn
	lookNs  int64 // the read deadline
	buffer  [datagramsMax]byte
	request writer
}

func (c *controller) writeGet(tid uint16, deoj eoj, epc byte) []byte {
	c.request.begin(tid, itself, deoj, get)
	c.request.put(epc, nil)
	return c.request.bytes()
}

// receive waits for a frame of peer. ok is true if a valid one arrived in time.
func (c *controller) receive(answer *frame) (ok, late bool, err error) {
	length, from, err := c.link.ReadFromUDPAddrPort(c.buffer[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, true, c.look(echonet.NowNs())
	}
	return err == nil && from.Addr() == c.params.Peer && answer.parse(c.buffer[:length]), false, err
}

// look renews the deadline: unlike SO_RCVTIMEO, the package has absolute deadlines.
func (c *controller) look(nowNs int64) error {
	c.lookNs = nowNs + echonet.TickNs
	return c.link.SetReadDeadline(time.Now().Add(echonet.TickNs))
}

// Find requests the instance lists of the group every second.
func (c *controller) Find() (err error) {
	if c.link, err = openLink(c.params.Local); err != nil {
		return err
	}
	if err = c.look(echonet.NowNs()); err != nil {
		return err
	}
	for askedNs := int64(-searchNs); ; {
		if nowNs := echonet.NowNs(); nowNs-askedNs >= searchNs {
			if _, err = c.link.WriteToUDPAddrPort(c.writeGet(1, nodeProfile, 0xD6), group); err != nil {
				return err
			}
			askedNs = nowNs
		}
		var answer frame
		ok, _, err := c.receive(&answer)
		if err != nil || (ok && listsLighting(answer)) {
			return err
		}
	}
}

// listsLighting reports whether a frame contains an instance list with the lighting.
func listsLighting(answer frame) bool {
	if (answer.esv != getRes && answer.esv != inf) || answer.seoj != nodeProfile {
		return false
	}
	for range answer.properties.count {
		epc, edt := answer.properties.next()
		if (epc != 0xD5 && epc != 0xD6) || len(edt) == 0 {
			continue
		}
		for list := edt[1:]; len(list) >= len(lighting); list = list[len(lighting):] {
			if eoj(list) == lighting {
				return true
			}
		}
	}
	return false
}

// Run is the closed loop.
func (c *controller) Run(reads *echonet.Outstanding) error {
	peer := netip.AddrPortFrom(c.params.Peer, port)
	var answer frame
	quiet := false
	for {
		for tid, read, ok := reads.Next(); ok; tid, read, ok = reads.Next() {
			request := c.writeGet(tid, eojOf(read.Object), read.Property)
			reads.Sent(tid, echonet.NowNs())
			if _, err := c.link.WriteToUDPAddrPort(request, peer); err != nil {
				return err
			}
		}
		ok, late, err := c.receive(&answer)
		nowNs := echonet.NowNs()
		switch {
		case err != nil:
			return err
		case late && quiet:
			reads.Expire(nowNs)
		case ok:
			take(reads, &answer, nowNs)
		}
		quiet = late // a passed deadline hides pending datagrams, so they are received before reads are declared lost
		if c.lookNs-nowNs < echonet.TickNs/2 {
			if err = c.look(nowNs); err != nil {
				return err
			}
		}
	}
}

// take handles an answer to an outstanding or lost read.
func take(reads *echonet.Outstanding, answer *frame, nowNs int64) {
	if answer.esv != getRes && answer.esv != getSNA {
		return
	}
	epc, value := answer.properties.next()
	if asked, ok := reads.Find(answer.tid); ok && (eojOf(asked.Object) != answer.seoj || asked.Property != epc) {
		return
	}
	if answer.esv == getSNA {
		value = nil
	}
	reads.Answered(answer.tid, value, nowNs)
}

func eojOf(code uint32) eoj { return eoj{byte(code >> 16), byte(code >> 8), byte(code)} }
