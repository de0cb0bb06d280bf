// A light and a controller of uecho-go with its TCP functions on, which its own examples leave off.
//
//	tcp light
//	tcp post ADDRESS OBJECT ESV PROPERTY
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/cybergarage/uecho-go/net/echonet"
	"github.com/cybergarage/uecho-go/net/echonet/protocol"
)

const (
	lightObject     = 0x029101
	operationStatus = 0x80
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func light(config echonet.Config) {
	onRequest := func(object echonet.Object, esv protocol.ESV, asked protocol.Property) error {
		if !esv.IsWriteRequest() {
			return nil
		}
		property, ok := object.LookupProperty(asked.Code())
		if !ok || asked.Code() != operationStatus {
			return fmt.Errorf("property %02X cannot be written", asked.Code())
		}
		property.SetData(asked.Data())
		return nil
	}
	device, err := echonet.NewDevice(
		echonet.WithDeviceCode(lightObject),
		echonet.WithDeviceManufacturerCode(echonet.DeviceManufacturerExperimental),
		echonet.WithDeviceRequestHandler(onRequest),
	)
	must(err)
	device.SetPropertyInteger(operationStatus, 0x30, 1)
	node := echonet.NewLocalNode(echonet.WithLocalNodeDevices(device), echonet.WithLocalNodeConfig(config))
	must(node.Start())
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	must(node.Stop())
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 16, 32)
	must(err)
	return value
}

func post(config echonet.Config, address, object, esv, property string) {
	controller := echonet.NewController(echonet.WithControllerConfig(config))
	must(controller.Start())
	must(controller.Search(context.Background()))
	time.Sleep(time.Second)
	node, ok := controller.LookupNode(address)
	if !ok {
		must(fmt.Errorf("%s is not found", address))
	}
	bytes, err := hex.DecodeString(property)
	must(err)
	request := echonet.NewMessage(
		echonet.WithMessageDEOJ(echonet.ObjectCode(number(object))),
		echonet.WithMessageESV(echonet.ESV(number(esv))),
		echonet.WithMessageProperties(echonet.NewProperty(
			echonet.WithPropertyCode(echonet.PropertyCode(bytes[0])),
			echonet.WithPropertyData(bytes[1:]),
		)),
	)
	answer, err := controller.PostMessage(context.Background(), node, request)
	must(err)
	fmt.Printf("%06X %02X", answer.SEOJ(), answer.ESV())
	for _, property := range answer.Properties() {
		fmt.Printf(" %02X%s", property.Code(), hex.EncodeToString(property.Data()))
	}
	fmt.Println()
	must(controller.Stop())
}

func main() {
	config := echonet.NewDefaultConfig(echonet.WithConfigTCPEnabled(true))
	switch {
	case len(os.Args) == 2 && os.Args[1] == "light":
		light(config)
	case len(os.Args) == 6 && os.Args[1] == "post":
		post(config, os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	default:
		must(fmt.Errorf("tcp light, or tcp post ADDRESS OBJECT ESV PROPERTY"))
	}
}
