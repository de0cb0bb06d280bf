package contender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

const setupLine = `{"type":"setup","protocol":1,"workload":"datachannel","role":"offerer","seed":9007199254740991,` +
	`"local":"198.18.0.1","peer":"198.18.0.2","params":{"pairs":2,"message_bytes":64,"ordered":false,` +
	`"verify_messages":3,"high_water_bytes":16384,"seconds":3.0},"capture":false,"later":{"x":1}}` + "\n"

// exited is the panic value of the tests' exit function, because exit must not return.
type exited int

// converse runs steps with these lines from the lab. It returns the output and the exit code, or -1 without an exit.
func converse(in string, steps func(*Lab, Setup)) (out string, code int) {
	var printed bytes.Buffer
	code = -1
	defer func() {
		out = printed.String()
		if reason := recover(); reason != nil {
			code = int(reason.(exited))
		}
	}()
	lab, setup := connect(strings.NewReader(in), &printed, func(code int) { panic(exited(code)) })
	steps(lab, setup)
	return
}

func TestConversation(t *testing.T) {
	in := setupLine + `{"type":"signal","from":"answerer","body":{"connection":1,"type":"answer","sdp":"v=0"}}` + "\n" +
		`{"type":"start","phase":"verify"}` + "\n" + `{"type":"mark","id":7}` + "\n" + `{"type":"stop"}` + "\n"
	out, code := converse(in, func(lab *Lab, setup Setup) {
		if setup.Role != "offerer" || setup.Seed != 1<<53-1 || setup.Peer != "198.18.0.2" {
			t.Errorf("setup: %+v", setup)
		}
		params, err := setup.DataChannel()
		if err != nil || params != (DataChannel{2, 64, false, 3, 16384}) {
			t.Errorf("params: %+v, %v", params, err)
		}
		lab.Ready("n", "1")
		body, err := params.DataChannelSignal(lab.Next().(Signal))
		if err != nil || body.Connection != 1 || body.Type != "answer" || body.SDP != "v=0" {
			t.Errorf("signal: %+v, %v", body, err)
		}
		if start := lab.Next().(Start); start.Phase != "verify" {
			t.Errorf("start: %+v", start)
		}
		lab.Connected([]uint64{1, 2})
		lab.Counters(lab.Next().(Mark), Values{"messages": 5})
		if _, ok := lab.Next().(Stop); !ok {
			t.Error("no stop")
		}
		lab.Result(Values{"messages": 6}, nil)
	})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	kinds := []string{"ready", "connected", "counters", "result"}
	if code != -1 || len(lines) != len(kinds) {
		t.Fatalf("exit %d, printed %s", code, out)
	}
	for i, line := range lines {
		var message map[string]any
		if err := json.Unmarshal([]byte(line), &message); err != nil || message["type"] != kinds[i] {
			t.Errorf("%s: %v, %v", kinds[i], line, err)
		}
	}
	if !strings.Contains(lines[2], `"id":7`) || !strings.Contains(lines[2], `"values":{"messages":5}`) {
		t.Error(lines[2])
	}
}

func TestForbidden(t *testing.T) {
	long := strings.Repeat(" ", MaxLineBytes+1) + "\n"
	for _, test := range []struct {
		name, in, prints string
		code             int
	}{
		{"closed at once", "", "", 1},
		{"closed later", setupLine, "", 1},
		{"not JSON", "hello\n", "failed", 1},
		{"too long", long, "failed", 1},
		{"no setup", `{"type":"stop"}` + "\n", "failed", 1},
		{"seed of the wrong type", `{"type":"setup","protocol":1,"seed":"x"}` + "\n", "failed", 1},
		{"another protocol", `{"type":"setup","protocol":2}` + "\n", "unsupported", 127},
		{"unknown type", setupLine + `{"type":"dance"}` + "\n", "failed", 1},
		{"unknown phase", setupLine + `{"type":"start","phase":"rest"}` + "\n", "failed", 1},
		{"repeated phase", setupLine + strings.Repeat(`{"type":"start","phase":"verify"}`+"\n", 2), "failed", 1},
		{"later line is not JSON", setupLine + "{\n", "failed", 1},
	} {
		out, code := converse(test.in, func(lab *Lab, _ Setup) {
			for {
				lab.Next()
			}
		})
		if code != test.code || !strings.Contains(out, test.prints) || (test.prints == "") != (out == "") {
			t.Errorf("%s: exit %d, printed %q", test.name, code, out)
		}
	}
}

func TestParametersOutOfRange(t *testing.T) {
	for _, params := range []string{
		`{"pairs":0,"message_bytes":64,"verify_messages":1,"high_water_bytes":1}`,
		`{"pairs":10001,"message_bytes":64,"verify_messages":1,"high_water_bytes":1}`,
		`{"pairs":1,"message_bytes":15,"verify_messages":1,"high_water_bytes":1}`,
		`{"pairs":1,"message_bytes":64,"verify_messages":0,"high_water_bytes":1}`,
		`{"pairs":-1}`, `[]`, ``,
	} {
		if _, err := (Setup{Params: json.RawMessage(params)}).DataChannel(); err == nil {
			t.Errorf("%s was accepted", params)
		}
	}
	for _, connection := range []int{-1, 2} {
		signal := Signal{Body: json.RawMessage(fmt.Sprintf(`{"connection":%d}`, connection))}
		if _, err := (DataChannel{Pairs: 2}).DataChannelSignal(signal); err == nil {
			t.Errorf("connection %d was accepted", connection)
		}
	}
}

func TestClockRuns(t *testing.T) {
	before := NowNs()
	time.Sleep(time.Millisecond)
	if after := NowNs(); before == 0 || after-before < 1_000_000 {
		t.Errorf("%d, then %d", before, after)
	}
}
