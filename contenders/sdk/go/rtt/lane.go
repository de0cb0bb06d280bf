package rtt

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"netdyno.dev/contender"
)

// helloSequence is the sequence of the message that sets a lane up.
const helloSequence = ^uint64(0)

// Lane is one socket of ping and the request that is under way on it. One goroutine uses it; its counters may be read
// by any.
type Lane struct {
	ping     *Ping
	shard    *shard
	stream   uint32
	sequence uint64 // of the request under way, or else of the next
	request  []byte
	dueNs    int64 // 0 where the request is not due at a set time
	sentNs   int64

	requests, messages, lost, late, strange atomic.Uint64
}

// Next is the next request. Its bytes are valid until the next call. It waits for the phase that the request is of, and
// in verify for the lane's turn.
func (l *Lane) Next() []byte {
	verify := l.ping.params.VerifyMessages
	switch l.sequence {
	case 0:
		<-l.ping.verify
		l.ping.turns <- struct{}{}
	case verify:
		l.ping.endTurn()
		<-l.ping.warmup
	}
	if l.sequence < verify {
		contender.Fill(l.request, l.ping.seed, l.stream, l.sequence)
		return l.request
	}
	contender.WriteHeader(l.request, l.stream, l.sequence)
	if plan := l.ping.schedule; plan.paced() {
		l.dueNs = l.ping.beganNs + plan.dueNs(int64(l.stream), int64(l.sequence-verify))
	}
	return l.request
}

// DueNs is when the next request is due: 0 where that is not at a set time.
func (l *Lane) DueNs() int64 { return l.dueNs }

// Wait waits until the request is due, if ever, and returns the last reading of the clock: the caller sends next.
func (l *Lane) Wait() (sentNs int64) {
	for {
		now := NowNs()
		switch {
		case now >= l.dueNs:
			return now
		case l.ping.sleeps:
			time.Sleep(time.Duration(l.dueNs - now))
		default:
			runtime.Gosched()
		}
	}
}

// Sent books the request as sent at that time.
func (l *Lane) Sent(sentNs int64) {
	l.sentNs = sentNs
	l.requests.Add(1)
}

// Take judges what the lane has received, at that time. It is done if that is the echo awaited: the lane goes on. An
// error ends the contender.
func (l *Lane) Take(echo []byte, receivedNs int64) (done bool, err error) {
	stream, sequence, ok := contender.ReadHeader(echo)
	ok = ok && len(echo) == len(l.request)
	switch {
	case ok && stream == 0 && sequence == helloSequence: // is in no counter
		return false, nil
	case !ok || stream != l.stream || sequence > l.sequence:
		l.strange.Add(1)
		return false, nil
	case sequence < l.sequence:
		l.late.Add(1)
		return false, nil
	}
	if sequence < l.ping.params.VerifyMessages {
		if !bytes.Equal(echo, l.request) {
			return false, fmt.Errorf("lane %d: the echo of request %d is not as it was sent", l.stream, sequence)
		}
		l.ping.verified(echo)
	}
	l.messages.Add(1)
	l.record(receivedNs)
	l.sequence++
	return true, nil
}

// record books the times of an echo within the measured window.
func (l *Lane) record(receivedNs int64) {
	if !l.ping.measured(receivedNs) {
		return
	}
	if l.ping.schedule.paced() {
		l.shard.open(l.dueNs, l.sentNs, receivedNs)
	} else {
		l.shard.closed(l.sentNs, receivedNs)
	}
}

// TimeoutNs is when the request under way will be lost.
func (l *Lane) TimeoutNs() int64 { return l.sentNs + l.ping.timeoutNs }

// Lost gives the request up if it has been under way for too long; the lane then goes on with the next.
func (l *Lane) Lost(nowNs int64) bool {
	if nowNs < l.TimeoutNs() {
		return false
	}
	l.lost.Add(1)
	l.sequence++
	return true
}
