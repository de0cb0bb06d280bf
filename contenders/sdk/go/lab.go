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
	// ProtocolVersion is the version of the contender protocol that this package speaks.
	ProtocolVersion = 1
	// MaxLineBytes bounds one line of the protocol, its newline left out.
	MaxLineBytes = 1 << 20

	exitFailed      = 1
	exitUnsupported = 127
)

// Setup says what this process is to be.
type Setup struct {
	Protocol                    int
	Workload, Role, Local, Peer string
	Seed                        uint64
	Params                      json.RawMessage
	Capture                     bool
	Inputs                      map[string]string // paths of the files that the lab has prepared, by name
}

// Event is a line from the lab after setup: a Signal, Start, Mark or Stop.
type Event interface{}

// Signal is a message from another role, forwarded word for word.
type Signal struct {
	From string
	Body json.RawMessage
}

// Start begins a phase: "verify", "warmup" or "measure", each at most once and in this order.
type Start struct{ Phase string }

// Mark asks for the counters at once.
type Mark struct{ ID uint64 }

// Stop asks for the result, and then the end of the process.
type Stop struct{}

// Values are counters by name.
type Values map[string]uint64

type fields map[string]any

// Lab is the connection to the lab.
type Lab struct {
	in   *bufio.Reader
	out  io.Writer
	lock sync.Mutex // held for one whole line
	exit func(code int)

	nextPhase int // index of the first phase that may still start
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
		lab.Failed(fmt.Sprintf("the first message is %q, not setup", kind))
	} else if err := json.Unmarshal(line, &setup); err != nil {
		lab.Failed("setup: " + err.Error())
	} else if setup.Protocol != ProtocolVersion {
		lab.Unsupported(fmt.Sprintf("protocol version %d", setup.Protocol))
	}
	return lab, setup
}

// Next waits for the next event. What the protocol forbids ends the process, and so does a closed stdin.
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

// start also holds the lab to the order of the phases, so that no adapter meets one twice.
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

// read returns the type of the next line and the line, which stays valid until the next read.
func (l *Lab) read() (kind string, line []byte) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.Failed(fmt.Sprintf("a line is longer than %d bytes", MaxLineBytes))
	} else if err != nil {
		l.exit(exitFailed) // stdin is closed: the lab is gone
	}
	var message struct{ Type string }
	if err := json.Unmarshal(line, &message); err != nil {
		l.Failed("a line is not a message: " + err.Error())
	}
	return message.Type, line
}

// Unsupported skips this role or these parameters, with a reason, and ends the process. Only before Ready.
func (l *Lab) Unsupported(reason string) {
	l.send(fields{"type": "unsupported", "reason": reason})
	l.exit(exitUnsupported)
}

// Failed says why this process cannot go on, and ends it.
func (l *Lab) Failed(reason string) {
	l.send(fields{"type": "failed", "reason": reason})
	l.exit(exitFailed)
}

// Ready names the library under test and says that signals may come.
func (l *Lab) Ready(name, version string) {
	l.send(fields{"type": "ready", "implementation": fields{
		"name": name, "version": version, "language": "go", "runtime": runtime.Version(),
	}})
}

// Signal sends body, as JSON, to another role.
func (l *Lab) Signal(to string, body any) {
	l.send(fields{"type": "signal", "to": to, "body": body})
}

// Connected says that every connection is up, and how long each took.
func (l *Lab) Connected(setupNs []uint64) {
	l.send(fields{"type": "connected", "setup_ns": setupNs})
}

// Counters answers a mark. The values are read by the caller, so that the clock is read just after them.
func (l *Lab) Counters(mark Mark, values Values) {
	l.send(fields{"type": "counters", "id": mark.ID, "at_ns": NowNs(), "values": values})
}

// Verified ends the verify phase: what was received.
func (l *Lab) Verified(digest Digest, messages, bytes uint64) {
	l.send(fields{"type": "verified", "digest": digest.String(), "messages": messages, "bytes": bytes})
}

// Result sends the final counters and histograms (HDR V2, base64). After it the process exits with 0.
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
