module netdyno.dev/contender/echonet/uecho-go

go 1.25

require (
	github.com/cybergarage/uecho-go v1.3.0
	netdyno.dev/contender v0.0.0
	netdyno.dev/contender/echonet v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/cybergarage/go-logger v1.3.11 // indirect
)

replace (
	netdyno.dev/contender => ../../sdk/go
	netdyno.dev/contender/echonet => ../../sdk/go/echonet
)
