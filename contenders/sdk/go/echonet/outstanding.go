package echonet

import "fmt"

const (
	// TickNs is the maximum interval at which a Runner checks for lost reads.
	TickNs = 100_000_000

	turns  = 511 // of a place; then the numbers wrap around
	noRead = -1
)

// Outstanding contains the outstanding reads of a Runner. It is used by one goroutine. The number of a read is 128 * turn + place:
// it identifies the place, and the turn, which starts from 1, reveals stale answers. It is never 0 and can be used as a TID.
type Outstanding struct {
	*role
	timeoutNs int64

	places   []place
	free     []int
	kept     int // number of finished reads of verify
	inWarmup bool
}

type place struct {
	turn   int
	n      int64 // noRead if there is none
	sentNs int64
}

func newOutstanding(role *role, params Params) *Outstanding {
	u := &Outstanding{role: role, timeoutNs: params.Timeout().Nanoseconds(), places: make([]place, params.Outstanding)}
	for i := range u.places {
		u.places[i].n = noRead
		u.free = append(u.free, len(u.places)-1-i)
	}
	return u
}

// Next returns the next read; ok is false if no further read may be outstanding. It waits for the phase of the read.
func (u *Outstanding) Next() (tid uint16, read Read, ok bool) {
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
		n = int64(u.counters.Next())
	}
	i := u.free[len(u.free)-1]
	u.free = u.free[:len(u.free)-1]
	u.places[i].turn = u.places[i].turn%turns + 1
	u.places[i].n = n
	return uint16(u.places[i].turn*maxOutstanding + i), Reads[n%int64(len(Reads))], true
}

// Sent records the time of a read. Call it right before sending the read.
func (u *Outstanding) Sent(tid uint16, ns int64) { u.places[tid%maxOutstanding].sentNs = ns }

// Find returns the outstanding read with this number.
func (u *Outstanding) Find(tid uint16) (Read, bool) {
	i := int(tid % maxOutstanding)
	if i >= len(u.places) || u.places[i].n == noRead || u.places[i].turn != int(tid/maxOutstanding) {
		return Read{}, false
	}
	return Reads[u.places[i].n%int64(len(Reads))], true
}

// Answered records an answer. The value is nil for a refusal. An answer to a read that is not outstanding is late.
func (u *Outstanding) Answered(tid uint16, value []byte, ns int64) {
	if _, ok := u.Find(tid); !ok {
		u.counters.Late()
		return
	}
	done := u.release(int(tid % maxOutstanding))
	if u.inWarmup {
		u.counters.answered(uint64(done.n), value, done.sentNs, ns)
		return
	}
	if err := u.counters.keep(u.kept, value, u.seed); err != nil {
		u.lab.Failed(err.Error())
		return
	}
	u.kept++
	if u.kept == len(Reads) {
		verified(u.lab, u.counters.payload())
	}
}

func (u *Outstanding) release(i int) place {
	done := u.places[i]
	u.places[i].n = noRead
	u.free = append(u.free, i)
	return done
}

// Expire marks reads as lost that have timed out. Call it if nothing arrives for TickNs.
func (u *Outstanding) Expire(ns int64) {
	for i, one := range u.places {
		if one.n == noRead || ns-one.sentNs <= u.timeoutNs {
			continue
		}
		if !u.inWarmup {
			u.lab.Failed(fmt.Sprintf("%v: %v", Reads[u.kept], ErrLost))
			return
		}
		u.release(i)
		u.counters.Lost()
	}
}
