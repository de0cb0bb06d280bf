package contender

import (
	"bytes"
	"math"
	"testing"
)

func TestVector(t *testing.T) {
	message := make([]byte, 80)
	Fill(message, 1, 2, 3)
	var digest Digest
	if digest.Add(message); digest.String() != "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe" {
		t.Error(digest)
	}
	if digest.Add(message); digest != (Digest{}) {
		t.Error("adding a message twice does not yield the empty digest: ", digest)
	}
	if stream, sequence, ok := ReadHeader(message); stream != 2 || sequence != 3 || !ok {
		t.Error(stream, sequence, ok)
	}
}

func TestEveryByteIsChecked(t *testing.T) {
	for _, length := range []int{16, 17, 48, 79} {
		message := make([]byte, length)
		Fill(message, 1, 2, 3)
		if !Matches(message, 1, 2, 3) {
			t.Errorf("%d bytes do not match themselves", length)
		}
		for i := HeaderBytes; i < length; i++ {
			message[i] ^= 1
			if Matches(message, 1, 2, 3) {
				t.Errorf("%d bytes: byte %d is not compared", length, i)
			}
			message[i] ^= 1
		}
	}
}

func TestShortMessagesHaveNoHeader(t *testing.T) {
	message := make([]byte, 3)
	if Fill(message, 1, 2, 3); !bytes.Equal(message, []byte{0xf9, 0x30, 0xea}) {
		t.Errorf("%x", message)
	}
}

func TestHeaderIsChecked(t *testing.T) {
	for _, message := range [][]byte{nil, make([]byte, 15), append(make([]byte, 15), 1)} {
		if _, _, ok := ReadHeader(message); ok {
			t.Errorf("%v was accepted", message)
		}
	}
}

func TestCountingRules(t *testing.T) {
	for _, test := range []struct {
		name                    string
		arrive                  []uint64
		gaps, repeats, disorder uint64
	}{
		{"nothing", nil, 0, 0, 0},
		{"in order", []uint64{0, 1, 2, 3}, 0, 0, 0},
		{"one missing", []uint64{0, 2}, 1, 0, 0},
		{"the first missing", []uint64{3}, 3, 0, 0},
		{"one late", []uint64{0, 2, 1, 3}, 0, 0, 1},
		{"two late, backwards", []uint64{3, 2, 1}, 1, 0, 2},
		{"a repeat", []uint64{0, 1, 1}, 0, 1, 0},
		{"repeat of an old message", []uint64{0, 1, 2, 0}, 0, 1, 0},
		{"late, then repeated", []uint64{1, 0, 0}, 0, 1, 1},
		{"two gaps, one filled", []uint64{1, 3, 2}, 1, 0, 1},
		{"maximum number of missing", []uint64{MaxMissing, MaxMissing - 1}, MaxMissing - 1, 0, 1},
		{"beyond the maximum of missing", []uint64{MaxMissing + 1, MaxMissing}, MaxMissing + 1, 1, 0},
		{"room again", []uint64{MaxMissing, 0, MaxMissing + 2, MaxMissing + 1}, MaxMissing - 1, 0, 2},
		{"a jump to the end", []uint64{math.MaxUint64 - 1}, math.MaxUint64 - 1, 0, 0},
	} {
		var receiver Receiver
		for _, sequence := range test.arrive {
			receiver.Take(sequence)
		}
		if receiver.Gaps != test.gaps || receiver.Repeats != test.repeats || receiver.Disorder != test.disorder {
			t.Errorf("%s: gaps %d, repeats %d, disorder %d", test.name, receiver.Gaps, receiver.Repeats, receiver.Disorder)
		}
	}
}
