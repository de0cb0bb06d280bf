package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
)

// child is a process that must have ended when this one exits.
type child struct {
	lock      sync.Mutex
	process   *os.Process
	isStopped bool
}

// start returns false if stop has been called.
func (c *child) start(command *exec.Cmd) (bool, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.isStopped {
		return false, nil
	}
	err := command.Start()
	c.process = command.Process
	return err == nil, err
}

func (c *child) stop() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.isStopped = true
	if c.process != nil {
		_ = c.process.Kill()
		_, _ = c.process.Wait()
	}
}

func (c *child) hasStopped() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.isStopped
}

// stopBefore returns a file with the lines of stdin, and stops the child before it forwards `stop`, at which the SDK exits.
func (c *child) stopBefore(stdin *os.File) (*os.File, error) {
	forwarded, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer to.Close()
		for lines := bufio.NewReader(stdin); ; {
			line, err := lines.ReadBytes('\n')
			var message struct{ Type string }
			if err != nil || (json.Unmarshal(line, &message) == nil && message.Type == "stop") {
				c.stop()
			}
			if _, failed := to.Write(line); err != nil || failed != nil {
				return
			}
		}
	}()
	return forwarded, nil
}
