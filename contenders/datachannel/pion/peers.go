package main

import (
	"fmt"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"netdyno.dev/contender"
)

// maxWaitingSignals is the maximum number of queued signals of a connection: one description, and the candidates of a host with
// many addresses.
const maxWaitingSignals = 64

// peers is the common part of both roles.
type peers struct {
	lab         *contender.Lab
	api         *webrtc.API
	params      contender.DataChannel
	mayLosePeer atomic.Bool // a lost connection is not an error
	inboxes     []chan contender.DataChannelSignal
}

// open starts one goroutine per connection, so that all connections are set up concurrently.
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
		p.fail(body.Connection, fmt.Errorf("more than %d queued signals", maxWaitingSignals))
	}
}

func (p *peers) fail(connection int, err error) {
	p.lab.Failed(fmt.Sprintf("connection %d: %v", connection, err))
}

// newConnection creates a connection that trickles its candidates to the peer.
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

// describe sends the description before setting it, because setting it starts gathering candidates, which must follow the
// description.
func (p *peers) describe(pc *webrtc.PeerConnection, connection int, peer string, sdp webrtc.SessionDescription) error {
	p.lab.Signal(peer, contender.Description{Connection: connection, Type: sdp.Type.String(), SDP: sdp.SDP})
	return pc.SetLocalDescription(sdp)
}

// apply applies a candidate, or the description that this role expects.
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
		return fmt.Errorf("unexpected signal type %q", body.Type)
	}
}
