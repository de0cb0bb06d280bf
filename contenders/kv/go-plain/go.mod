module netdyno.dev/contender/kv/go-plain

go 1.24

require netdyno.dev/contender v0.0.0

replace netdyno.dev/contender => ../../sdk/go
