package rtt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"netdyno.dev/contender"
)

// Many datagrams at once could overflow the socket buffer of pong, and the gate tolerates no loss. The number of lanes that
// verify at once is therefore bounded by outstanding bytes, including the approximate overhead of the kernel per datagram.
const (
	verifyBytes   = 1 << 16
	datagramBytes = 1 << 10
)

// Ping is the role that sends requests, with its lanes and their counters.
type Ping struct {
	params    Params
	seed      uint64
	sleeps    bool // between requests, instead of polling the clock
	timeoutNs int64
	windowNs  uint64
	schedule  schedule
	lanes     []*Lane
	shards    []*shard
	tasks     tasks

	verify, warmup chan struct{} // each closed when its phase starts
	beganNs        int64         // start of warmup; set before the channel is closed
	measureNs      atomic.Int64  // start of measure

	turns chan struct{} // a semaphore of the lanes that verify

	gate       sync.Mutex // protects the following fields
	digest     contender.Digest
	echoes     uint64
	unverified int // number of lanes
	complete   chan struct{}
}

// NewPing creates the lanes.
func NewPing(setup contender.Setup, params Params) *Ping {
	ping := &Ping{
		params:     params,
		seed:       setup.Seed,
		sleeps:     params.Pacing == "timer",
		timeoutNs:  params.TimeoutMs * 1_000_000,
		windowNs:   uint64(params.Seconds * float64(second)),
		schedule:   schedule{rate: params.Rate, lanes: int64(params.Outstanding)},
		tasks:      newTasks(params.Tasks),
		verify:     make(chan struct{}),
		warmup:     make(chan struct{}),
		turns:      make(chan struct{}, max(1, verifyBytes/(params.MessageBytes+datagramBytes))),
		unverified: params.Outstanding,
		complete:   make(chan struct{}),
	}
	ping.measureNs.Store(math.MaxInt64)
	for range min(params.Outstanding, maxShards) {
		ping.shards = append(ping.shards, newShard())
	}
	for i := range params.Outstanding {
		request := make([]byte, params.MessageBytes)
		lane := &Lane{ping: ping, shard: ping.shards[i%maxShards], stream: uint32(i), request: request}
		ping.lanes = append(ping.lanes, lane)
	}
	return ping
}

// Lanes returns all lanes, in order.
func (p *Ping) Lanes() []*Lane { return p.lanes }

// Hello returns the first message of a lane.
func (p *Ping) Hello() []byte {
	hello := make([]byte, p.params.MessageBytes)
	contender.WriteHeader(hello, 0, helloSequence)
	return hello
}

// CheckHello checks the echo of a hello.
func (p *Ping) CheckHello(echo []byte) error {
	if !bytes.Equal(echo, p.Hello()) {
		return errors.New("the echo of the hello is wrong")
	}
	return nil
}

// Serve handles the lab's events until stop. It calls connect once, with pong's port; connect must not block.
func (p *Ping) Serve(lab *contender.Lab, connect func(port uint16)) {
	connected := false
	for {
		switch event := lab.Next().(type) {
		case contender.Signal:
			port, err := readPort(event)
			if err == nil && connected {
				err = errors.New("duplicate signal with pong's port")
			}
			if err != nil {
				lab.Failed("signal: " + err.Error())
			}
			connected = true
			connect(port)
		case contender.Start:
			p.start(lab, event.Phase)
		case contender.Mark:
			lab.Counters(event, p.values())
		case contender.Stop:
			values := p.values()
			histograms, err := encoded(p.shards, p.schedule.paced())
			if err != nil {
				lab.Failed("histograms: " + err.Error())
			}
			lab.Result(values, histograms)
			return
		}
	}
}

func (p *Ping) start(lab *contender.Lab, phase string) {
	switch phase {
	case "verify":
		close(p.verify)
		go func() {
			<-p.complete
			lab.Verified(p.digest, p.echoes, p.echoes*uint64(p.params.MessageBytes))
		}()
	case "warmup":
		p.tasks.start()
		p.beganNs = NowNs()
		close(p.warmup)
	case "measure":
		p.measureNs.Store(NowNs())
	}
}

// verified adds an echo of the verify phase to the digest.
func (p *Ping) verified(echo []byte) {
	p.gate.Lock()
	defer p.gate.Unlock()
	p.digest.Add(echo)
	p.echoes++
}

// endTurn is called once per lane, after its last request of the verify phase.
func (p *Ping) endTurn() {
	<-p.turns
	p.gate.Lock()
	defer p.gate.Unlock()
	p.unverified--
	if p.unverified == 0 {
		close(p.complete)
	}
}

// measured reports whether a time is in the measured window. Before measure, the difference wraps around to a value beyond it.
func (p *Ping) measured(ns int64) bool { return uint64(ns-p.measureNs.Load()) < p.windowNs }

// values returns the counters, summed over the lanes. Echoes are counted after requests, so they are read before them.
func (p *Ping) values() contender.Values {
	var requests, messages, lost, late, strange uint64
	for _, lane := range p.lanes {
		messages += lane.messages.Load()
		lost += lane.lost.Load()
		requests += lane.requests.Load()
		late += lane.late.Load()
		strange += lane.strange.Load()
	}
	return contender.Values{
		"requests": requests, "messages": messages, "bytes": messages * uint64(p.params.MessageBytes),
		"lost": lost, "late": late, "strange": strange, "task_runs": p.tasks.runs(),
	}
}

// readPort parses the signal body {"port": n}.
func readPort(signal contender.Signal) (uint16, error) {
	var body struct{ Port uint16 }
	if err := json.Unmarshal(signal.Body, &body); err != nil {
		return 0, err
	}
	if body.Port == 0 {
		return 0, fmt.Errorf("%s contains no port", signal.Body)
	}
	return body.Port, nil
}
