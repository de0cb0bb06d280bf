package echonet

import "fmt"

const (
	// LookNs is how often a Runner looks at least whether a read is lost.
	LookNs = 100_000_000

	turns  = 511 // of a place; then the numbers begin again
	noRead = -1
)

// UnderWay are the reads of a Runner that have no answer yet. One goroutine uses it. A read's number is 128 * turn + place: it names the
// place, and the turn, from 1 on, tells an old answer. It is of use as a TID, and never 0.
type UnderWay struct {
	*role
	timeoutNs int64

	places   []place
	free     []int
	kept     int // reads of verify that are done
	inWarmup bool
}

type place struct {
	turn   int
	n      int64 // noRead: none
	sentNs int64
}

func newUnderWay(role *role, params Params) *UnderWay {
	u := &UnderWay{role: role, timeoutNs: params.Timeout().Nanoseconds(), places: make([]place, params.Outstanding)}
	for i := range u.places {
		u.places[i].n = noRead
		u.free = append(u.free, len(u.places)-1-i)
	}
	return u
}

// Next is a read to be sent, if another one may be under way. It waits for the phase that the read belongs to.
func (u *UnderWay) Next() (tid uint16, read Read, ok bool) {
	if len(u.free) == 0 || (u.kept < len(Reads) && len(u.free) < len(u.places)) {
		return 0, Read{}, false
	}
	n := int64(u.kept)
	switch {
	case u.kept < len(Reads):
		<-u.verify
	case !u.inWarmup:
		<-u.warmup
		u.inWarmup = true
		fallthrough
	default:
		n = int64(u.books.Next())
	}
	i := u.free[len(u.free)-1]
	u.free = u.free[:len(u.free)-1]
	u.places[i].turn = u.places[i].turn%turns + 1
	u.places[i].n = n
	return uint16(u.places[i].turn*maxOutstanding + i), Reads[n%int64(len(Reads))], true
}

// Sent is called right before a read is sent, with the clock as it was read then.
func (u *UnderWay) Sent(tid uint16, ns int64) { u.places[tid%maxOutstanding].sentNs = ns }

// Asked is what the read of that number is of, if it is under way.
func (u *UnderWay) Asked(tid uint16) (Read, bool) {
	i := int(tid % maxOutstanding)
	if i >= len(u.places) || u.places[i].n == noRead || u.places[i].turn != int(tid/maxOutstanding) {
		return Read{}, false
	}
	return Reads[u.places[i].n%int64(len(Reads))], true
}

// Answered books an answer; the value is nil of a refusal. One to a read that is not under way is late.
func (u *UnderWay) Answered(tid uint16, value []byte, ns int64) {
	if _, ok := u.Asked(tid); !ok {
		u.books.Late()
		return
	}
	done := u.release(int(tid % maxOutstanding))
	if u.inWarmup {
		u.books.answered(uint64(done.n), value, done.sentNs, ns)
		return
	}
	if err := u.books.keep(u.kept, value, u.seed); err != nil {
		u.lab.Failed(err.Error())
		return
	}
	u.kept++
	if u.kept == len(Reads) {
		verified(u.lab, u.books.payload())
	}
}

func (u *UnderWay) release(i int) place {
	done := u.places[i]
	u.places[i].n = noRead
	u.free = append(u.free, i)
	return done
}

// Look gives up what was sent too long ago: for one who waited LookNs for nothing.
func (u *UnderWay) Look(ns int64) {
	for i, one := range u.places {
		if one.n == noRead || ns-one.sentNs <= u.timeoutNs {
			continue
		}
		if !u.inWarmup {
			u.lab.Failed(fmt.Sprintf("%v: %v", Reads[u.kept], ErrLost))
			return
		}
		u.release(i)
		u.books.Lost()
	}
}
