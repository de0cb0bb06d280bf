module netdyno.dev/contender/echonet/go-plain

go 1.24

require (
	netdyno.dev/contender v0.0.0
	netdyno.dev/contender/echonet v0.0.0
)

require github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect

replace (
	netdyno.dev/contender => ../../sdk/go
	netdyno.dev/contender/echonet => ../../sdk/go/echonet
)
