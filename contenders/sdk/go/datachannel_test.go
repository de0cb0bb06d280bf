package contender

import (
	"maps"
	"testing"
)

var (
	testSetup  = Setup{Seed: 5}
	testParams = DataChannel{Pairs: 2, MessageBytes: 64, VerifyMessages: 2, HighWaterBytes: 16384}
)

func TestSourceToSink(t *testing.T) {
	sink := NewSink(testSetup, testParams)
	var sources []*Source
	for connection := range testParams.Pairs {
		source := NewSource(testSetup, testParams, connection)
		sources = append(sources, source)
		for range 3 {
			select {
			case <-sink.Complete():
				if connection == 0 {
					t.Error("complete before the second connection has finished")
				}
			default:
			}
			if err := sink.Take(connection, source.Message()); err != nil {
				t.Error(err)
			}
			source.Sent()
		}
	}
	<-sink.Complete()
	var expected Digest
	message := make([]byte, testParams.MessageBytes)
	for i := range 4 {
		Fill(message, testSetup.Seed, uint32(i/2), uint64(i%2))
		expected.Add(message)
	}
	if digest, messages, bytes := sink.Verified(); digest != expected || messages != 4 || bytes != 4*64 {
		t.Error(digest, messages, bytes)
	}
	if values := SourceValues(sources); !maps.Equal(values, Values{"messages": 6, "bytes": 6 * 64}) {
		t.Error(values)
	}
	all := Values{"messages": 6, "bytes": 6 * 64, "gaps": 0, "repeats": 0, "disorder": 0}
	if values := sink.Values(); !maps.Equal(values, all) {
		t.Error(values)
	}
}

func TestSinkRefuses(t *testing.T) {
	good := func() []byte {
		message := make([]byte, testParams.MessageBytes)
		Fill(message, testSetup.Seed, 1, 0)
		return message
	}
	flipped := good()
	flipped[63] ^= 1
	for name, message := range map[string][]byte{
		"empty": nil, "short": good()[:63], "long": append(good(), 0), "another body": flipped,
	} {
		if NewSink(testSetup, testParams).Take(1, message) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if NewSink(testSetup, testParams).Take(0, good()) == nil {
		t.Error("a message of another stream was accepted")
	}
}

func TestSetupTimes(t *testing.T) {
	times := NewSetupTimes(2, 2)
	for _, connection := range []int{1, 0} {
		times.Begin(connection)
	}
	for _, connection := range []int{0, 1, 1} {
		times.Step(connection)
	}
	select {
	case <-times.Done():
		t.Error("done too early")
	default:
	}
	times.Step(0)
	<-times.Done()
	if durations := times.DurationsNs(); len(durations) != 2 || durations[0] == 0 || durations[1] == 0 {
		t.Error(durations)
	}
}
