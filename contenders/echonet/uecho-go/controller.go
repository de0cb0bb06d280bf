package main

import (
	"context"
	"errors"

	uecho "github.com/cybergarage/uecho-go/net/echonet"
	"github.com/cybergarage/uecho-go/net/echonet/protocol"
	"netdyno.dev/contender/echonet"
)

// controller is a listener of the library's controller, which calls it from a separate goroutine for each message.
type controller struct {
	params echonet.Params
	found  chan uecho.Node // capacity one; further nodes are ignored

	library uecho.Controller
	node    uecho.Node
}

func newController(params echonet.Params) *controller {
	return &controller{params: params, found: make(chan uecho.Node, 1)}
}

// Find starts the library's controller and a search. It does not wait for the end of the search: the listener reports nodes as they are found.
func (c *controller) Find() error {
	config := uecho.NewDefaultConfig()
	config.TransportConfig().SetRequestTimeout(c.params.Timeout())
	c.library = uecho.NewController(uecho.WithControllerConfig(config))
	c.library.SetListener(c)
	if err := c.library.Start(); err != nil {
		return err
	}
	search, end := context.WithCancel(context.Background())
	defer end()
	failed := make(chan error, 1)
	go func() {
		if err := c.library.Search(search); err != nil {
			failed <- err
		}
	}()
	select {
	case c.node = <-c.found:
		return nil
	case err := <-failed:
		return err
	}
}

// ControllerNewNodeFound is called for each node that announces itself or answers the search, including this one.
func (c *controller) ControllerNewNodeFound(node uecho.Node) {
	if node.Address() != c.params.Peer.String() {
		return
	}
	if _, err := node.LookupDevice(echonet.Lighting); err != nil {
		return
	}
	select {
	case c.found <- node:
	default:
	}
}

// ControllerMessageReceived is called for every message.
func (c *controller) ControllerMessageReceived(*protocol.Message) {}

// Read posts a request, as in the example. The library holds a lock from request to answer, so only one read is outstanding.
func (c *controller) Read(read echonet.Read) ([]byte, error) {
	request := uecho.NewMessage(
		uecho.WithMessageESV(uecho.ESVReadRequest),
		uecho.WithMessageDEOJ(uecho.ObjectCode(read.Object)),
		uecho.WithMessageProperties(uecho.NewProperty(uecho.WithPropertyCode(uecho.PropertyCode(read.Property)))),
	)
	answer, err := c.library.PostMessage(context.Background(), c.node, request)
	if errors.Is(err, uecho.ErrTimeout) {
		return nil, echonet.ErrLost
	}
	if err != nil {
		return nil, err
	}
	if answer.ESV() != uecho.ESVReadResponse {
		return nil, echonet.ErrRefused
	}
	property, ok := answer.Property(0)
	if !ok {
		return nil, echonet.ErrRefused
	}
	return property.Data(), nil
}
