module netdyno.dev/contender/mjpeg/go-plain

go 1.24.0

require (
	github.com/pion/rtp v1.10.6
	netdyno.dev/contender v0.0.0
	netdyno.dev/contender/mjpeg v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/pion/randutil v0.1.0 // indirect
)

replace (
	netdyno.dev/contender => ../../sdk/go
	netdyno.dev/contender/mjpeg => ../../sdk/go/mjpeg
)
