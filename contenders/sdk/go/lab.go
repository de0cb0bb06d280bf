package contender

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
)

const (
	// ProtocolVersion is the version of the contender protocol that this package implements.
	ProtocolVersion = 1
	// MaxLineBytes is the maximum length of a line without its newline.
	MaxLineBytes = 1 << 20

	exitFailed      = 1
	exitUnsupported = 127
)

// Setup is the configuration of this process.
type Setup struct {
	Protocol                    int
	Workload, Role, Local, Peer string
	Seed                        uint64
	Params                      json.RawMessage
	Capture                     bool
	Inputs                      map[string]string // paths of the trial's input files, by name
}

// Event is a line from the lab after setup: a Signal, Start, Mark or Stop.
type Event interface{}

// Signal is a message from another role, forwarded unchanged.
type Signal struct {
	From string
	Body json.RawMessage
}

// Start starts a phase: "verify", "warmup" or "measure", each at most once and in this order.
type Start struct{ Phase string }

// Mark requests the counters immediately.
type Mark struct{ ID uint64 }

// Stop requests the result and the end of the process.
type Stop struct{}

// Values are counters by name.
type Values map[string]uint64

type fields map[string]any

// Lab is the connection to the lab.
type Lab struct {
	in   *bufio.Reader
	out  io.Writer
	lock sync.Mutex // held while a line is written
	exit func(code int)

	nextPhase int // index of the next phase that may start
}

var phases = []string{"verify", "warmup", "measure"}

// Connect reads the setup line from stdin.
func Connect() (*Lab, Setup) {
	return connect(os.Stdin, os.Stdout, os.Exit)
}

func connect(in io.Reader, out io.Writer, exit func(int)) (*Lab, Setup) {
	lab := &Lab{in: bufio.NewReaderSize(in, MaxLineBytes+1), out: out, exit: exit}
	var setup Setup
	kind, line := lab.read()
	if kind != "setup" {
		lab.Failed(fmt.Sprintf("the first message is %q, expected setup", kind))
	} else if err := json.Unmarshal(line, &setup); err != nil {
		lab.Failed("setup: " + err.Error())
	} else if setup.Protocol != ProtocolVersion {
		lab.Unsupported(fmt.Sprintf("protocol version %d", setup.Protocol))
	}
	return lab, setup
}

// Next waits for the next event. An invalid message or a closed stdin ends the process.
func (l *Lab) Next() Event {
	kind, line := l.read()
	var event Event
	var err error
	switch kind {
	case "signal":
		event, err = decode[Signal](line)
	case "start":
		event, err = l.start(line)
	case "mark":
		event, err = decode[Mark](line)
	case "stop":
		event = Stop{}
	default:
		err = errors.New("unknown message type")
	}
	if err != nil {
		l.Failed(fmt.Sprintf("%s: %v", kind, err))
	}
	return event
}

// start checks that each phase starts at most once and in order.
func (l *Lab) start(line []byte) (Start, error) {
	event, err := decode[Start](line)
	next := slices.Index(phases, event.Phase)
	if err == nil && next < l.nextPhase {
		err = fmt.Errorf("phase %q is unknown or out of order", event.Phase)
	}
	l.nextPhase = next + 1
	return event, err
}

func decode[T any](line []byte) (event T, err error) {
	err = json.Unmarshal(line, &event)
	return event, err
}

// read returns the type of the next line, and the line, which is valid until the next read.
func (l *Lab) read() (kind string, line []byte) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.Failed(fmt.Sprintf("a line from the lab is longer than %d bytes", MaxLineBytes))
	} else if err != nil {
		l.exit(exitFailed) // stdin is closed: the lab has ended
	}
	var message struct{ Type string }
	if err := json.Unmarshal(line, &message); err != nil {
		l.Failed("invalid line from the lab: " + err.Error())
	}
	return message.Type, line
}

// Unsupported reports that the contender does not support this role or these parameters, and exits. Call it before Ready.
func (l *Lab) Unsupported(reason string) {
	l.send(fields{"type": "unsupported", "reason": reason})
	l.exit(exitUnsupported)
}

// Failed reports an error and exits.
func (l *Lab) Failed(reason string) {
	l.send(fields{"type": "failed", "reason": reason})
	l.exit(exitFailed)
}

// Ready reports the library under test, and that the role can receive signals.
func (l *Lab) Ready(name, version string) {
	l.send(fields{"type": "ready", "implementation": fields{
		"name": name, "version": version, "language": "go", "runtime": runtime.Version(),
	}})
}

// Signal sends body as JSON to another role.
func (l *Lab) Signal(to string, body any) {
	l.send(fields{"type": "signal", "to": to, "body": body})
}

// Connected reports that all connections are established, with the setup time of each.
func (l *Lab) Connected(setupNs []uint64) {
	l.send(fields{"type": "connected", "setup_ns": setupNs})
}

// Counters answers a mark. The caller reads the values, so that the clock is read right after them.
func (l *Lab) Counters(mark Mark, values Values) {
	l.send(fields{"type": "counters", "id": mark.ID, "at_ns": NowNs(), "values": values})
}

// Verified reports the data received in the verify phase.
func (l *Lab) Verified(digest Digest, messages, bytes uint64) {
	l.send(fields{"type": "verified", "digest": digest.String(), "messages": messages, "bytes": bytes})
}

// Result sends the final counters and histograms (HDR V2 in base64) and exits with 0.
func (l *Lab) Result(values Values, histograms map[string]string) {
	if histograms == nil {
		histograms = map[string]string{}
	}
	l.send(fields{"type": "result", "values": values, "histograms": histograms})
}

func (l *Lab) send(message fields) {
	line, err := json.Marshal(message)
	if err != nil {
		line, _ = json.Marshal(fields{"type": "failed", "reason": "cannot encode a message: " + err.Error()})
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if _, writeErr := l.out.Write(append(line, '\n')); err != nil || writeErr != nil {
		l.exit(exitFailed)
	}
}
