package rtt

import (
	"sync"
	"sync/atomic"

	"netdyno.dev/contender"
)

// Pong is the role that returns messages, with its counters.
type Pong struct {
	params Params
	tasks  tasks
	lock   sync.Mutex // protects the list, not the counters
	books  []*Echoes
}

// Echoes counts the messages that one goroutine returns. Any goroutine may read it.
type Echoes struct {
	delayNs         int64
	messages, bytes atomic.Uint64
	_               [64]byte // avoids false sharing
}

// NewPong creates a pong with zero counters.
func NewPong(params Params) *Pong {
	return &Pong{params: params, tasks: newTasks(params.Tasks)}
}

// Echoes creates the counters of a goroutine.
func (p *Pong) Echoes() *Echoes {
	p.lock.Lock()
	defer p.lock.Unlock()
	book := &Echoes{delayNs: p.params.EchoDelayNs}
	p.books = append(p.books, book)
	return book
}

// Delay applies the artificial delay. Call it between receiving a message and returning it.
func (e *Echoes) Delay() {
	if e.delayNs == 0 {
		return
	}
	for end := NowNs() + e.delayNs; NowNs() < end; {
	}
}

// Count counts a message. Call it right before returning the message, so that ping never receives an uncounted echo.
func (e *Echoes) Count(bytes int) {
	e.messages.Add(1)
	e.bytes.Add(uint64(bytes))
}

// Serve signals the port to ping and handles the lab's events until stop.
func (p *Pong) Serve(lab *contender.Lab, port uint16) {
	lab.Signal("ping", map[string]uint16{"port": port})
	lab.Connected([]uint64{})
	for {
		switch event := lab.Next().(type) {
		case contender.Start:
			if event.Phase == "warmup" {
				p.tasks.start()
			}
		case contender.Mark:
			lab.Counters(event, p.values())
		case contender.Stop:
			lab.Result(p.values(), nil)
			return
		}
	}
}

func (p *Pong) values() contender.Values {
	p.lock.Lock()
	defer p.lock.Unlock()
	var messages, bytes uint64
	for _, book := range p.books {
		messages += book.messages.Load()
		bytes += book.bytes.Load()
	}
	return contender.Values{"messages": messages, "bytes": bytes, "task_runs": p.tasks.runs()}
}
