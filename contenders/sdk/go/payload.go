package contender

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

const (
	// HeaderBytes is the length of the header of a message.
	HeaderBytes = 16
	// MaxMissing is the maximum number of missing sequence numbers that a Receiver remembers.
	MaxMissing = 4096
)

// WriteHeader writes the header of a message of at least HeaderBytes bytes.
func WriteHeader(message []byte, stream uint32, sequence uint64) {
	binary.BigEndian.PutUint64(message[0:8], sequence)
	binary.BigEndian.PutUint32(message[8:12], stream)
	binary.BigEndian.PutUint32(message[12:16], 0)
}

// ReadHeader parses the header of a message. ok is false if the message is too short, or the zero field is not zero.
func ReadHeader(message []byte) (stream uint32, sequence uint64, ok bool) {
	if len(message) < HeaderBytes || binary.BigEndian.Uint32(message[12:16]) != 0 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(message[8:12]), binary.BigEndian.Uint64(message[0:8]), true
}

// Fill writes a whole message of the verify phase: the header, and the body, which is derived from the seed. A message
// shorter than a header is a prefix of the body.
func Fill(message []byte, seed uint64, stream uint32, sequence uint64) {
	body := message
	if len(message) >= HeaderBytes {
		WriteHeader(message, stream, sequence)
		body = message[HeaderBytes:]
	}
	for index := uint32(0); len(body) > 0; index++ {
		block := bodyBlock(seed, stream, sequence, index)
		body = body[copy(body, block[:]):]
	}
}

// Matches reports whether the body of a message is the one derived from the seed.
func Matches(message []byte, seed uint64, stream uint32, sequence uint64) bool {
	for body, index := message[HeaderBytes:], uint32(0); len(body) > 0; index++ {
		block := bodyBlock(seed, stream, sequence, index)
		length := min(len(body), len(block))
		if !bytes.Equal(body[:length], block[:length]) {
			return false
		}
		body = body[length:]
	}
	return true
}

func bodyBlock(seed uint64, stream uint32, sequence uint64, index uint32) [sha256.Size]byte {
	var input [24]byte
	binary.BigEndian.PutUint64(input[0:8], seed)
	binary.BigEndian.PutUint32(input[8:12], stream)
	binary.BigEndian.PutUint64(input[12:20], sequence)
	binary.BigEndian.PutUint32(input[20:24], index)
	return sha256.Sum256(input[:])
}

// Digest is the digest of a set of messages, independent of their order.
type Digest [sha256.Size]byte

// Add adds a message to the set.
func (d *Digest) Add(message []byte) {
	hash := sha256.Sum256(message)
	for i := range d {
		d[i] ^= hash[i]
	}
}

// String returns the digest in lower-case hexadecimal digits.
func (d Digest) String() string {
	return hex.EncodeToString(d[:])
}

// Receiver counts gaps, repeats and disorder of the sequence numbers of one connection.
type Receiver struct {
	Gaps, Repeats, Disorder uint64

	next    uint64
	missing map[uint64]struct{}
}

// Take counts a message.
func (r *Receiver) Take(sequence uint64) {
	switch {
	case sequence == r.next:
		r.next++
	case sequence > r.next:
		r.skipTo(sequence)
		r.next = sequence + 1
	default:
		if _, late := r.missing[sequence]; late {
			delete(r.missing, sequence)
			r.Gaps--
			r.Disorder++
		} else {
			r.Repeats++
		}
	}
}

func (r *Receiver) skipTo(sequence uint64) {
	r.Gaps += sequence - r.next
	if r.missing == nil {
		r.missing = make(map[uint64]struct{})
	}
	for skipped := r.next; skipped < sequence && len(r.missing) < MaxMissing; skipped++ {
		r.missing[skipped] = struct{}{}
	}
}
