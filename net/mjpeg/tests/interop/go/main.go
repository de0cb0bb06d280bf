// A hash of each picture that gortsplib's client gets: gortsplib-client WHERE COUNT udp|tcp
package main

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtpmjpeg"
	"github.com/pion/rtp"
)

func main() {
	where, count := os.Args[1], must(strconv.Atoi(os.Args[2]))
	pictures := make(chan []byte, 1000)
	if strings.HasPrefix(where, "rtsp://") {
		defer watch(where, os.Args[3], pictures).Close()
	} else {
		file := must(os.ReadFile(where))
		// One picture ends where the next begins.
		border := []byte{0xff, 0xd9, 0xff, 0xd8}
		for rest := file; len(rest) > 0; {
			length := len(rest)
			if at := bytes.Index(rest, border); at >= 0 {
				length = at + 2
			}
			pictures <- rest[:length]
			rest = rest[length:]
		}
	}
	for range count {
		picture := must(jpeg.Decode(bytes.NewReader(<-pictures))).(*image.YCbCr)
		fmt.Printf("%x\n", md5.Sum(bytes.Join([][]byte{picture.Y, picture.Cb, picture.Cr}, nil)))
	}
}

// Plays, and puts each JPEG file into the channel.
func watch(where, transport string, pictures chan<- []byte) *gortsplib.Client {
	protocol := gortsplib.ProtocolUDP
	if transport == "tcp" {
		protocol = gortsplib.ProtocolTCP
	}
	url := must(base.ParseURL(where))
	client := &gortsplib.Client{Scheme: url.Scheme, Host: url.Host, Protocol: &protocol}
	check(client.Start())
	description, _, err := client.Describe(url)
	check(err)
	var mjpeg *format.MJPEG
	medium := description.FindFormat(&mjpeg)
	if medium == nil {
		log.Fatal("no stream of JPEG")
	}
	decoder := must(mjpeg.CreateDecoder())
	must(client.Setup(description.BaseURL, medium, 0, 0))
	client.OnPacketRTP(medium, mjpeg, func(packet *rtp.Packet) {
		picture, err := decoder.Decode(packet)
		switch {
		case err == nil:
			pictures <- picture
		case !errors.Is(err, rtpmjpeg.ErrMorePacketsNeeded):
			log.Print(err)
		}
	})
	must(client.Play(nil))
	return client
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
