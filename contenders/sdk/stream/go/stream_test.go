package stream

import (
	"bytes"
	"encoding/json"
	"testing"

	"netdyno.dev/contender"
)

func testParams(transport string, messageBytes int) Params {
	return Params{Transport: transport, MessageBytes: messageBytes, Connections: 1, VerifyMessages: 3, seed: 7}
}

// written returns the message with this sequence as a sender writes it.
func written(t *testing.T, params Params, sequence uint64) []byte {
	t.Helper()
	sender := NewSender(params)
	source := sender.Source(0)
	source.messages.Store(sequence)
	source.received.Store(sequence)
	sender.stage.Store(traffic)
	if sequence < params.VerifyMessages {
		sender.stage.Store(verify)
	}
	return bytes.Clone(source.Next())
}

func TestASourceWaitsForPhasesAndAcknowledgements(t *testing.T) {
	sender := NewSender(testParams("tcp", 32))
	source := sender.Source(0)
	may := func(wanted bool, when string) {
		t.Helper()
		if source.maySend() != wanted {
			t.Errorf("%s: may send: %t, expected %t", when, !wanted, wanted)
		}
	}
	may(false, "before verify")
	sender.start("verify")
	for range 3 {
		may(true, "verify")
		source.Next()
		if !source.Verify() {
			t.Error("a message of verify needs a flush")
		}
		may(false, "not acknowledged")
		if _, err := sender.signal(json.RawMessage(`{"received":0}`)); err != nil {
			t.Fatal(err)
		}
	}
	may(false, "before warmup")
	sender.start("warmup")
	may(true, "warmup")
	source.Next()
	if source.Verify() {
		t.Error("a message of warmup needs no flush")
	}
	if values := sender.values(); values["messages"] != 4 || values["bytes"] != 4*32 {
		t.Errorf("values %v", values)
	}
}

func TestSignals(t *testing.T) {
	sender := NewSender(testParams("tcp", 32))
	for body, valid := range map[string]bool{
		`{"ports":[1]}`: true, `{"received":0}`: true, `{"received":1}`: false, `{"received":-1}`: false,
		`{"ports":[1,2]}`: false, `{"ports":[70000]}`: false, `{}`: false, `[]`: false,
	} {
		if _, err := sender.signal(json.RawMessage(body)); (err == nil) != valid {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestMessagesAreCheckedAndCounted(t *testing.T) {
	for _, row := range []struct {
		transport    string
		messageBytes int
		sequences    []uint64
		refused      int // index of the first refused message, or -1
		counts       [3]uint64
	}{
		{"tcp", 8, []uint64{0, 1, 2, 3, 4}, -1, [3]uint64{}},
		{"tcp", 16, []uint64{0, 1, 2, 3, 4}, -1, [3]uint64{}},
		{"tcp", 100, []uint64{0, 1, 2, 3, 4}, -1, [3]uint64{}},
		{"tcp", 8, []uint64{0, 1, 2, 3, 5}, 4, [3]uint64{}},
		{"tcp", 100, []uint64{0, 1, 2, 3, 3}, 4, [3]uint64{}},
		{"tcp", 100, []uint64{0, 2}, 1, [3]uint64{}},
		{"udp", 8, []uint64{0, 2}, 1, [3]uint64{}},
		{"udp", 8, []uint64{0, 1, 2, 3, 6, 5}, -1, [3]uint64{1, 0, 1}},
		{"udp", 100, []uint64{0, 1, 2, 3, 6, 5, 5, 7}, -1, [3]uint64{1, 1, 1}},
	} {
		params := testParams(row.transport, row.messageBytes)
		receiver := NewReceiver(nil, params)
		sink, refused := receiver.Sink(0), -1
		for i, sequence := range row.sequences {
			if sink.check(written(t, params, sequence), uint64(i) < params.VerifyMessages) != nil {
				refused = i
				break
			}
		}
		if refused != row.refused {
			t.Errorf("%+v: message %d was refused", row, refused)
		}
		values := receiver.values()
		if counts := [3]uint64{values["gaps"], values["repeats"], values["disorder"]}; refused < 0 && counts != row.counts {
			t.Errorf("%+v: counts %v", row, counts)
		}
	}
}

func TestEveryByteOfVerifyIsCompared(t *testing.T) {
	params := testParams("tcp", 40)
	good := written(t, params, 0)
	sink := NewReceiver(nil, params).Sink(0)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if sink.check(bad, true) == nil {
			t.Errorf("byte %d is not compared", i)
		}
	}
	if err := sink.check(good, true); err != nil || sink.digest == (contender.Digest{}) {
		t.Errorf("%v, digest %v", err, sink.digest)
	}
}
