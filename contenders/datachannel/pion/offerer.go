package main

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pion/webrtc/v4"

	"netdyno.dev/contender"
)

// offerer creates the connections and sends messages.
type offerer struct {
	*peers
	times   *contender.SetupTimes
	sources []*contender.Source
	verify  chan struct{} // closed at the start of verify
	flood   chan struct{} // closed at the start of warmup, or of measure if there is no warmup
	once    sync.Once     // for closing flood
	stopped chan struct{}
	senders sync.WaitGroup
}

func newOfferer(base *peers, setup contender.Setup) *offerer {
	o := &offerer{
		peers:   base,
		times:   contender.NewSetupTimes(base.params.Pairs, 2),
		verify:  make(chan struct{}),
		flood:   make(chan struct{}),
		stopped: make(chan struct{}),
	}
	for connection := range base.params.Pairs {
		o.sources = append(o.sources, contender.NewSource(setup, base.params, connection))
	}
	o.senders.Add(base.params.Pairs)
	go func() {
		<-o.times.Done()
		o.lab.Connected(o.times.DurationsNs())
	}()
	o.open(o.run)
	return o
}

func (o *offerer) run(connection int, signals <-chan contender.DataChannelSignal) error {
	o.times.Begin(connection)
	pc, err := o.newConnection(connection, "answerer")
	if err != nil {
		return err
	}
	channel, err := pc.CreateDataChannel(channelLabel, &webrtc.DataChannelInit{Ordered: &o.params.Ordered})
	if err != nil {
		return err
	}
	o.attach(channel, connection)
	offer, err := pc.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := o.describe(pc, connection, "answerer", offer); err != nil {
		return err
	}
	for body := range signals {
		if err := apply(pc, body, webrtc.SDPTypeAnswer); err != nil {
			return err
		}
	}
	return nil
}

func (o *offerer) attach(channel *webrtc.DataChannel, connection int) {
	low := make(chan struct{}, 1)
	channel.SetBufferedAmountLowThreshold(o.params.HighWaterBytes / 2)
	channel.OnBufferedAmountLow(func() {
		select {
		case low <- struct{}{}:
		default:
		}
	})
	channel.OnOpen(func() {
		o.times.Step(connection)
		defer o.senders.Done()
		if err := o.send(channel, o.sources[connection], low); err != nil {
			o.fail(connection, err)
		}
	})
	channel.OnMessage(func(message webrtc.DataChannelMessage) {
		if string(message.Data) != contender.Hello {
			o.fail(connection, fmt.Errorf("a message of %d bytes, not the hello", len(message.Data)))
		}
		o.times.Step(connection)
	})
	channel.OnClose(func() {
		if !o.mayLosePeer.Load() {
			o.fail(connection, errors.New("the channel was closed"))
		}
	})
}

// send sends the messages of verify, then as many messages as possible until stop.
func (o *offerer) send(channel *webrtc.DataChannel, source *contender.Source, low <-chan struct{}) error {
	if !o.wait(o.verify) {
		return nil
	}
	for range o.params.VerifyMessages {
		if goOn, err := o.sendOne(channel, source, low); !goOn {
			return err
		}
	}
	if !o.wait(o.flood) {
		return nil
	}
	for {
		if goOn, err := o.sendOne(channel, source, low); !goOn {
			return err
		}
	}
}

func (o *offerer) sendOne(channel *webrtc.DataChannel, source *contender.Source, low <-chan struct{}) (bool, error) {
	select {
	case <-o.stopped:
		return false, nil
	default:
	}
	if channel.BufferedAmount() >= o.params.HighWaterBytes {
		// `low` may contain an earlier notification, so the amount is checked.
		for channel.BufferedAmount() > o.params.HighWaterBytes/2 {
			if !o.wait(low) {
				return false, nil
			}
		}
	}
	if err := channel.Send(source.Message()); err != nil {
		return false, err
	}
	source.Sent()
	return true, nil
}

// wait returns false if stop came first.
func (o *offerer) wait(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	case <-o.stopped:
		return false
	}
}

func (o *offerer) start(phase string) {
	if phase == "verify" {
		close(o.verify)
	} else {
		o.once.Do(func() { close(o.flood) })
	}
}

func (o *offerer) values() contender.Values { return contender.SourceValues(o.sources) }

func (o *offerer) stop() {
	o.mayLosePeer.Store(true)
	close(o.stopped)
	select {
	case <-o.times.Done():
		o.senders.Wait() // so that the result includes the last message
	default: // some sender never started
	}
}
