module netdyno.dev/contender/mjpeg/gortsplib

go 1.26.0

require (
	github.com/bluenviron/gortsplib/v5 v5.6.5
	github.com/pion/rtp v1.10.5
	netdyno.dev/contender v0.0.0
	netdyno.dev/contender/mjpeg v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/bluenviron/mediacommon/v2 v2.9.4 // indirect
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/sdp/v3 v3.0.19 // indirect
)

replace (
	netdyno.dev/contender => ../../sdk/go
	netdyno.dev/contender/mjpeg => ../../sdk/go/mjpeg
)
