module netdyno.dev/contender/kv/redcon

go 1.24

require (
	github.com/tidwall/redcon v1.6.4
	netdyno.dev/contender v0.0.0
)

require (
	github.com/tidwall/btree v1.1.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
)

replace netdyno.dev/contender => ../../sdk/go
