package echonet

import (
	"encoding/hex"
	"testing"
)

const payload = "54301a433524372b04845c1cdd" // for seed 1

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	value, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestPayload(t *testing.T) {
	if text := hex.EncodeToString(Identification(1)); text != "fe00000b"+payload {
		t.Error(text)
	}
}

func TestChecks(t *testing.T) {
	for _, test := range []struct {
		property byte
		value    string
		good     bool
	}{
		{0x80, "30", true}, {0x80, "31", false}, {0x80, "", false}, {0x80, "3030", false},
		{0x82, "010d0100", true}, {0x82, "010d01", false},
		{0x83, "fe123456" + payload, true}, {0x83, "ff00000b" + payload, false}, {0x83, "fe00000b" + payload[2:] + "00", false},
		{0x83, payload, false}, {0x83, "", false},
		{0x8A, "000077", true}, {0x8A, "0077", false},
		{0x9D, "0280d5", true}, {0x9D, "00", true}, {0x9D, "", false}, {0x9D, "0380d5", false}, {0x9D, "027fd5", false},
		{0x9E, "1000000000000000000000000000000000", true}, {0x9E, "10000000000000000000000000000000", false},
		{0x9F, "0b8082838a9d9e9fd3d4d6d7", true}, {0x9F, "078082838a9d9e9f", true}, {0x9F, "068082838a9d9e", false},
		// Bitmaps: with the required codes, with all codes, without 9F, with the count of a list.
		{0x9F, "1001000101000000000000010000020202", true}, {0x9F, "100101012120202020010101000002020a", true},
		{0x9F, "1001000101000000000000010000020200", false}, {0x9F, "0701000101000000000000010000020202", false},
		{0xD3, "000001", true}, {0xD3, "01", false}, {0xD4, "0002", true}, {0xD4, "0001", false},
		{0xD6, "01029101", true}, {0xD6, "01029102", false},
		{0xD7, "010291", true}, {0xD7, "0202910ef0", true}, {0xD7, "020ef00291", true}, {0xD7, "020291", false},
	} {
		err := Read{NodeProfile, test.property}.check(bytesOf(t, test.value), 1)
		if (err == nil) != test.good {
			t.Errorf("%02X %s: %v", test.property, test.value, err)
		}
	}
}

func TestBitmap(t *testing.T) {
	codes, ok := mapCodes(bytesOf(t, "1001000000000000000000000000000080"))
	if !ok || hex.EncodeToString(codes) != "80ff" {
		t.Error(codes, ok)
	}
	// A published example.
	codes, ok = mapCodes(bytesOf(t, "40a595d5a7c4c4c5869795a7e471339392"))
	if !ok || len(codes) != 64 {
		t.Error(len(codes), ok)
	}
}

func TestSame(t *testing.T) {
	for _, test := range []struct {
		property     byte
		value, other string
		same         bool
	}{
		{0x9F, "028081", "028180", true}, {0x9F, "028081", "028280", false}, {0x9F, "028081", "03808182", false},
		{0x9E, "", "0180", false}, {0xD6, "028081", "028180", false}, {0xD6, "01", "01", true},
	} {
		value, other := bytesOf(t, test.value), bytesOf(t, test.other)
		if (Read{NodeProfile, test.property}).same(value, other) != test.same {
			t.Error(test)
		}
		if string(value) != string(bytesOf(t, test.value)) {
			t.Error("changed: ", test)
		}
	}
}
