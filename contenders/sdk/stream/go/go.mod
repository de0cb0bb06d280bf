module netdyno.dev/contender/stream

go 1.24

require netdyno.dev/contender v0.0.0

replace netdyno.dev/contender => ../../go
