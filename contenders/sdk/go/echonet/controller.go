package echonet

import (
	"errors"
	"fmt"

	"netdyno.dev/contender"
)

var (
	// ErrLost means that no answer arrived in time, ErrRefused that the device refused the read.
	ErrLost    = errors.New("no answer in time")
	ErrRefused = errors.New("refused")
)

// Library is implemented by an adapter for its library's controller.
type Library interface {
	// Find creates the controller and returns when it knows that the node at peer has the lighting.
	Find() error
	// Read reads a property of peer. Errors other than ErrLost and ErrRefused end the process.
	Read(read Read) ([]byte, error)
}

// Runner is a controller that sends and receives datagrams itself, on the goroutine that calls Run after Find. Run returns
// only with an error.
type Runner interface {
	Find() error
	Run(reads *Outstanding) error
}

// role is the common part of both kinds of controller.
type role struct {
	lab            *contender.Lab
	seed           uint64
	counters       *Counters
	verify, warmup chan struct{} // each closed when its phase starts
}

func newRole(lab *contender.Lab, setup contender.Setup, params Params) *role {
	return &role{
		lab: lab, seed: setup.Seed, counters: newCounters(params), verify: make(chan struct{}), warmup: make(chan struct{}),
	}
}

// ServeController handles the lab's events until stop, while `outstanding` goroutines call a library.
func ServeController(lab *contender.Lab, setup contender.Setup, params Params, library Library) {
	role := newRole(lab, setup, params)
	role.serve(library.Find, func() {
		<-role.verify
		if err := role.counters.verify(library, setup.Seed); err != nil {
			lab.Failed(err.Error())
		}
		verified(lab, role.counters.payload())
		<-role.warmup
		for range params.Outstanding {
			go func() { lab.Failed(role.counters.loop(library).Error()) }()
		}
	})
}

// ServeRunner handles the lab's events until stop, while a goroutine runs the runner.
func ServeRunner(lab *contender.Lab, setup contender.Setup, params Params, runner Runner) {
	role := newRole(lab, setup, params)
	reads := newOutstanding(role, params)
	role.serve(runner.Find, func() { lab.Failed(runner.Run(reads).Error()) })
}

// serve discovers the device when it is ready, then starts the loop on a separate goroutine.
func (r *role) serve(find func() error, run func()) {
	found := false
	for {
		switch event := r.lab.Next().(type) {
		case contender.Signal:
			if found {
				r.lab.Failed("duplicate signal from the device")
			}
			found = true
			begunNs := NowNs()
			if err := find(); err != nil {
				r.lab.Failed("discovery: " + err.Error())
			}
			r.lab.Connected([]uint64{uint64(NowNs() - begunNs)})
			go run()
		case contender.Start:
			r.start(event.Phase)
		case contender.Mark:
			r.lab.Counters(event, r.counters.values())
		case contender.Stop:
			values := r.counters.values()
			histograms, err := r.counters.histograms()
			if err != nil {
				r.lab.Failed("histograms: " + err.Error())
			}
			r.lab.Result(values, histograms)
			return
		}
	}
}

func (r *role) start(phase string) {
	switch phase {
	case "verify":
		close(r.verify)
	case "warmup":
		close(r.warmup)
	case "measure":
		r.counters.measureNs.Store(NowNs())
	}
}

// verified reports the data received in verify.
func verified(lab *contender.Lab, payload []byte) {
	var digest contender.Digest
	digest.Add(payload)
	lab.Verified(digest, 1, uint64(len(payload)))
}

// verify reads all properties and stores their values.
func (c *Counters) verify(library Library, seed uint64) error {
	for i, read := range Reads {
		value, err := library.Read(read)
		if err != nil {
			return fmt.Errorf("%v: %w", read, err)
		}
		if err := c.keep(i, value, seed); err != nil {
			return err
		}
	}
	return nil
}

// loop is the closed loop of one goroutine that calls a library.
func (c *Counters) loop(library Library) error {
	for {
		n := c.Next()
		sentNs := NowNs()
		value, err := library.Read(Reads[n%uint64(len(Reads))])
		receivedNs := NowNs()
		switch {
		case err == nil || errors.Is(err, ErrRefused):
			c.answered(n, value, sentNs, receivedNs)
		case errors.Is(err, ErrLost):
			c.Lost()
		default:
			return err
		}
	}
}
