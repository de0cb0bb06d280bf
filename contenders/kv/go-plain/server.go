package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// server contains the keys. Values are []byte and are never modified.
type server struct {
	items      sync.Map
	isBuffered bool
}

// serve accepts connections until the listener fails.
func (s *server) serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			s.answer(conn)
		}()
	}
}

// answer answers the requests of a connection until it ends or a request is malformed. Replies to pipelined requests are sent
// together if requests are buffered, and otherwise one by one.
func (s *server) answer(conn net.Conn) {
	var in source = &bytewise{conn: conn}
	if s.isBuffered {
		in = bufio.NewReader(conn)
	}
	out := bufio.NewWriter(conn)
	var request request
	for {
		err := request.read(in)
		if errors.Is(err, errProtocol) {
			writeError(out, err.Error())
		} else if err == nil {
			s.execute(request.words, out)
		}
		if in.Buffered() == 0 || err != nil {
			if out.Flush() != nil || err != nil {
				return
			}
		}
	}
}

func (s *server) execute(words [][]byte, out *bufio.Writer) {
	switch name := strings.ToLower(string(words[0])); {
	case name == "ping" && len(words) == 1:
		out.WriteString("+PONG\r\n")
	case name == "set" && len(words) == 3:
		s.items.Store(string(words[1]), words[2])
		out.WriteString("+OK\r\n")
	case name == "get" && len(words) == 2:
		value, ok := s.items.Load(string(words[1]))
		if !ok {
			out.WriteString("$-1\r\n")
		} else {
			writeBulk(out, value.([]byte))
		}
	default:
		writeError(out, "ERR unknown command, or wrong number of arguments")
	}
}

// source is the part of bufio.Reader that reading a request needs.
type source interface {
	io.ByteReader
	io.Reader
	Buffered() int // bytes that have been read from the socket and not from the source
}

// bytewise makes one system call for each byte.
type bytewise struct {
	conn io.Reader
	one  [1]byte
}

func (b *bytewise) ReadByte() (byte, error) {
	_, err := io.ReadFull(b.conn, b.one[:])
	return b.one[0], err
}

func (b *bytewise) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	return b.conn.Read(into[:1])
}

func (*bytewise) Buffered() int { return 0 }
