module netdyno.dev/contender/mjpeg

go 1.24

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	netdyno.dev/contender v0.0.0
)

replace netdyno.dev/contender => ../
