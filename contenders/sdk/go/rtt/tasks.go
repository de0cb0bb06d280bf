package rtt

import (
	"sync/atomic"
	"time"
)

const (
	stepsPerRun = 100
	restPerRun  = time.Millisecond
)

// tasks are the background tasks of a role: a goroutine each.
type tasks []task

type task struct {
	x    uint32 // kept here, so that the computation has a use and stays
	runs atomic.Uint64
	_    [64]byte // keeps the neighbours, which other cores write, off this cache line
}

func newTasks(count int) tasks {
	all := make(tasks, count)
	for i := range all {
		all[i].x = uint32(i) + 1
	}
	return all
}

// start runs them until the process ends.
func (t tasks) start() {
	for i := range t {
		go t[i].run()
	}
}

func (t *task) run() {
	for {
		t.step()
		t.runs.Add(1)
		time.Sleep(restPerRun)
	}
}

// step is the work of one run.
func (t *task) step() {
	x := t.x
	for range stepsPerRun {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	t.x = x
}

// runs are the runs of all of them.
func (t tasks) runs() (sum uint64) {
	for i := range t {
		sum += t[i].runs.Load()
	}
	return sum
}
