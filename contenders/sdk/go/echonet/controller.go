package echonet

import (
	"errors"
	"fmt"

	"netdyno.dev/contender"
)

var (
	// ErrLost is that no answer came in time, ErrRefused that the answer was a refusal.
	ErrLost    = errors.New("no answer in time")
	ErrRefused = errors.New("refused")
)

// Library is what an adapter supplies of its library's controller.
type Library interface {
	// Find makes the controller, and returns once it knows that the node at peer has the lighting.
	Find() error
	// Read asks peer for a property. Errors other than ErrLost and ErrRefused end the process.
	Read(read Read) ([]byte, error)
}

// Runner is a controller that sends and receives by itself, on the goroutine on which Run is called once Find has returned. It
// returns only with an error.
type Runner interface {
	Find() error
	Run(reads *UnderWay) error
}

// role is what both have in common.
type role struct {
	lab            *contender.Lab
	seed           uint64
	books          *Books
	verify, warmup chan struct{} // each closed as its phase begins
}

func newRole(lab *contender.Lab, setup contender.Setup, params Params) *role {
	return &role{
		lab: lab, seed: setup.Seed, books: newBooks(params), verify: make(chan struct{}), warmup: make(chan struct{}),
	}
}

// ServeController takes the lab's events until stop, and has `outstanding` goroutines call a library.
func ServeController(lab *contender.Lab, setup contender.Setup, params Params, library Library) {
	role := newRole(lab, setup, params)
	role.serve(library.Find, func() {
		<-role.verify
		if err := role.books.verify(library, setup.Seed); err != nil {
			lab.Failed(err.Error())
		}
		verified(lab, role.books.payload())
		<-role.warmup
		for range params.Outstanding {
			go func() { lab.Failed(role.books.loop(library).Error()) }()
		}
	})
}

// ServeRunner takes the lab's events until stop.
func ServeRunner(lab *contender.Lab, setup contender.Setup, params Params, runner Runner) {
	role := newRole(lab, setup, params)
	reads := newUnderWay(role, params)
	role.serve(runner.Find, func() { lab.Failed(runner.Run(reads).Error()) })
}

// serve finds the device when that is ready, and then begins the loop on a goroutine of its own.
func (r *role) serve(find func() error, run func()) {
	found := false
	for {
		switch event := r.lab.Next().(type) {
		case contender.Signal:
			if found {
				r.lab.Failed("signal: the device was ready already")
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
			r.lab.Counters(event, r.books.values())
		case contender.Stop:
			values := r.books.values()
			histograms, err := r.books.histograms()
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
		r.books.measureNs.Store(NowNs())
	}
}

// verified tells the lab what verify has received.
func verified(lab *contender.Lab, payload []byte) {
	var digest contender.Digest
	digest.Add(payload)
	lab.Verified(digest, 1, uint64(len(payload)))
}

// verify reads all, and keeps the values.
func (b *Books) verify(library Library, seed uint64) error {
	for i, read := range Reads {
		value, err := library.Read(read)
		if err != nil {
			return fmt.Errorf("%v: %w", read, err)
		}
		if err := b.keep(i, value, seed); err != nil {
			return err
		}
	}
	return nil
}

// loop is the closed loop of one goroutine, over a call that gives the value.
func (b *Books) loop(library Library) error {
	for {
		n := b.Next()
		sentNs := NowNs()
		value, err := library.Read(Reads[n%uint64(len(Reads))])
		receivedNs := NowNs()
		switch {
		case err == nil || errors.Is(err, ErrRefused):
			b.answered(n, value, sentNs, receivedNs)
		case errors.Is(err, ErrLost):
			b.Lost()
		default:
			return err
		}
	}
}
