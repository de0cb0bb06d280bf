package main

import (
	"github.com/pion/webrtc/v4"

	"netdyno.dev/contender"
)

// answerer answers the offers and receives messages.
type answerer struct {
	*peers
	times *contender.SetupTimes
	sink  *contender.Sink
}

func newAnswerer(base *peers, setup contender.Setup) *answerer {
	a := &answerer{
		peers: base,
		times: contender.NewSetupTimes(base.params.Pairs, 1),
		sink:  contender.NewSink(setup, base.params),
	}
	go func() {
		<-a.times.Done()
		a.mayLosePeer.Store(true) // the lab stops the offerer first
		a.lab.Connected(a.times.DurationsNs())
	}()
	a.open(a.run)
	return a
}

func (a *answerer) run(connection int, signals <-chan contender.DataChannelSignal) error {
	offer := <-signals
	a.times.Begin(connection)
	pc, err := a.newConnection(connection, "offerer")
	if err != nil {
		return err
	}
	pc.OnDataChannel(func(channel *webrtc.DataChannel) { a.attach(channel, connection) })
	if err := apply(pc, offer, webrtc.SDPTypeOffer); err != nil {
		return err
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return err
	}
	if err := a.describe(pc, connection, "offerer", answer); err != nil {
		return err
	}
	for body := range signals {
		if err := apply(pc, body, webrtc.SDPTypeOffer); err != nil {
			return err
		}
	}
	return nil
}

func (a *answerer) attach(channel *webrtc.DataChannel, connection int) {
	channel.OnMessage(func(message webrtc.DataChannelMessage) {
		if err := a.sink.Take(connection, message.Data); err != nil {
			a.lab.Failed(err.Error())
		}
	})
	channel.OnOpen(func() {
		a.times.Step(connection)
		if err := channel.Send([]byte(contender.Hello)); err != nil {
			a.fail(connection, err)
		}
	})
}

func (a *answerer) start(phase string) {
	if phase == "verify" {
		go func() {
			<-a.sink.Complete()
			a.lab.Verified(a.sink.Verified())
		}()
	}
}

func (a *answerer) values() contender.Values { return a.sink.Values() }

func (a *answerer) stop() {}
