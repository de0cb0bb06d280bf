module netdyno.dev/contender/stream/go-net

go 1.24

require (
	netdyno.dev/contender v0.0.0
	netdyno.dev/contender/stream v0.0.0
)

replace (
	netdyno.dev/contender => ../../sdk/go
	netdyno.dev/contender/stream => ../../sdk/stream/go
)
