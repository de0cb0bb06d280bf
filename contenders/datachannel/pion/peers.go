package main

import (
	"fmt"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"netdyno.dev/contender"
)

// maxWaitingSignals bounds the signals of one connection that it has not taken yet: one description and the candidates
// of a host with very many addresses.
const maxWaitingSignals = 64

// peers is what both roles share.
type peers struct {
	lab         *contender.Lab
	api         *webrtc.API
	params      contender.DataChannel
	mayLosePeer atomic.Bool // from then on a lost connection is no failure
	inboxes     []chan contender.DataChannelSignal
}

// open starts one goroutine a connection, so that all of them are set up at once.
func (p *peers) open(run func(connection int, signals <-chan contender.DataChannelSignal) error) {
	p.inboxes = make([]chan contender.DataChannelSignal, p.params.Pairs)
	for connection := range p.inboxes {
		inbox := make(chan contender.DataChannelSignal, maxWaitingSignals)
		p.inboxes[connection] = inbox
		go func() {
			if err := run(connection, inbox); err != nil {
				p.fail(connection, err)
			}
		}()
	}
}

func (p *peers) signal(body contender.DataChannelSignal) {
	select {
	case p.inboxes[body.Connection] <- body:
	default:
		p.fail(body.Connection, fmt.Errorf("more than %d signals wait", maxWaitingSignals))
	}
}

func (p *peers) fail(connection int, err error) {
	p.lab.Failed(fmt.Sprintf("connection %d: %v", connection, err))
}

// newConnection makes a connection that sends its candidates to the peer as it finds them.
func (p *peers) newConnection(connection int, peer string) (*webrtc.PeerConnection, error) {
	pc, err := p.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	pc.OnICECandidate(func(candidate *webrtc.ICECandidate) {
		if candidate == nil { // the end of candidates
			return
		}
		init := candidate.ToJSON()
		p.lab.Signal(peer, contender.Candidate{
			Connection:    connection,
			Type:          "candidate",
			Candidate:     init.Candidate,
			SDPMid:        init.SDPMid,
			SDPMLineIndex: init.SDPMLineIndex,
		})
	})
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateFailed && !p.mayLosePeer.Load() {
			p.fail(connection, fmt.Errorf("the peer connection is %s", state))
		}
	})
	return pc, nil
}

// describe sends the description before it is set, because setting it starts the flow of candidates, which must
// follow it.
func (p *peers) describe(pc *webrtc.PeerConnection, connection int, peer string, sdp webrtc.SessionDescription) error {
	p.lab.Signal(peer, contender.Description{Connection: connection, Type: sdp.Type.String(), SDP: sdp.SDP})
	return pc.SetLocalDescription(sdp)
}

// apply takes a candidate, or the description that this role waits for.
func apply(pc *webrtc.PeerConnection, body contender.DataChannelSignal, expected webrtc.SDPType) error {
	switch body.Type {
	case "candidate":
		return pc.AddICECandidate(webrtc.ICECandidateInit{
			Candidate:     body.Candidate.Candidate,
			SDPMid:        body.SDPMid,
			SDPMLineIndex: body.SDPMLineIndex,
		})
	case expected.String():
		return pc.SetRemoteDescription(webrtc.SessionDescription{Type: expected, SDP: body.SDP})
	default:
		return fmt.Errorf("a signal of type %q", body.Type)
	}
}
