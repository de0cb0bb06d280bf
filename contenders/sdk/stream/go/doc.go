// Package stream contains both roles of the workload stream (workloads/stream.toml) without sockets: parameters and phases, the
// messages of a connection (Source), and their checks and counters (Sink).
//
// A sender calls Sender.Serve with a function that connects, and sends the messages of each Source from one goroutine. A
// receiver binds, calls Receiver.Serve with its ports, and passes each message to the Sink of its connection.
package stream
