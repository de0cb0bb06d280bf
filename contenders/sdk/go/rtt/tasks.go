package rtt

import (
	"sync/atomic"
	"time"
)

const (
	stepsPerRun = 100
	restPerRun  = time.Millisecond
)

// tasks contains the background tasks of a role, each of which is a goroutine.
type tasks []task

type task struct {
	x    uint32 // stored, so that the computation is not optimised away
	runs atomic.Uint64
	_    [64]byte // avoids false sharing
}

func newTasks(count int) tasks {
	all := make(tasks, count)
	for i := range all {
		all[i].x = uint32(i) + 1
	}
	return all
}

// start runs the tasks until the process ends.
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

// step performs one run.
func (t *task) step() {
	x := t.x
	for range stepsPerRun {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	t.x = x
}

// runs returns the number of runs of all tasks.
func (t tasks) runs() (sum uint64) {
	for i := range t {
		sum += t[i].runs.Load()
	}
	return sum
}
