module netdyno.dev/contender

go 1.24
