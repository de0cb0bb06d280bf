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

// Runner is a Library that has the closed loop to itself, from warmup on. It returns only with an error.
type Runner interface {
	Run(books *Books) error
}

// ServeController takes the lab's events until stop.
func ServeController(lab *contender.Lab, setup contender.Setup, params Params, library Library) {
	books := newBooks(params)
	found := false
	for {
		switch event := lab.Next().(type) {
		case contender.Signal:
			if found {
				lab.Failed("signal: the device was ready already")
			}
			found = true
			begunNs := NowNs()
			if err := library.Find(); err != nil {
				lab.Failed("discovery: " + err.Error())
			}
			lab.Connected([]uint64{uint64(NowNs() - begunNs)})
		case contender.Start:
			start(lab, setup, params, library, books, event.Phase)
		case contender.Mark:
			lab.Counters(event, books.values())
		case contender.Stop:
			values := books.values()
			histograms, err := books.histograms()
			if err != nil {
				lab.Failed("histograms: " + err.Error())
			}
			lab.Result(values, histograms)
			return
		}
	}
}

func start(lab *contender.Lab, setup contender.Setup, params Params, library Library, books *Books, phase string) {
	switch phase {
	case "verify":
		payload, err := books.verify(library, setup.Seed)
		if err != nil {
			lab.Failed(err.Error())
		}
		var digest contender.Digest
		digest.Add(payload)
		lab.Verified(digest, 1, uint64(len(payload)))
	case "warmup":
		if runner, ok := library.(Runner); ok {
			go func() { lab.Failed(runner.Run(books).Error()) }()
			return
		}
		for range params.Outstanding {
			go func() { lab.Failed(books.loop(library).Error()) }()
		}
	case "measure":
		books.measureNs.Store(NowNs())
	}
}

// verify reads all, keeps the values, and gives the payload that the identification number ends with.
func (b *Books) verify(library Library, seed uint64) (payload []byte, err error) {
	for i, read := range Reads {
		value, err := library.Read(read)
		if err != nil {
			return nil, fmt.Errorf("object %06X, property %02X: %w", read.Object, read.Property, err)
		}
		if err := read.check(value, seed); err != nil {
			return nil, err
		}
		b.expected[i] = append([]byte(nil), value...)
		if read.Property == 0x83 {
			payload = b.expected[i][identificationBytes-payloadBytes:]
		}
	}
	return payload, nil
}

// loop is the closed loop of one goroutine, over a call that gives the value.
func (b *Books) loop(library Library) error {
	for {
		n := b.Next()
		sentNs := NowNs()
		value, err := library.Read(Reads[n%uint64(len(Reads))])
		receivedNs := NowNs()
		switch {
		case err == nil:
			b.Took(n, value, sentNs, receivedNs)
		case errors.Is(err, ErrLost):
			b.Lost()
		case errors.Is(err, ErrRefused):
			b.Refused(n, sentNs, receivedNs)
		default:
			return err
		}
	}
}
