package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	wordsMax     = 1024
	wordBytesMax = 64 << 20
	lineBytesMax = 64
)

var errProtocol = errors.New("ERR Protocol error")

// request is an array of bulk strings.
type request struct {
	words [][]byte
	line  []byte
}

// read reads the next request. The words remain valid, because a value may be stored.
func (r *request) read(in source) error {
	count, err := r.number(in, '*')
	if err != nil {
		return err
	}
	if count < 1 || count > wordsMax {
		return fmt.Errorf("%w: invalid multibulk length", errProtocol)
	}
	r.words = r.words[:0]
	for range count {
		length, err := r.number(in, '$')
		if err != nil {
			return err
		}
		if length < 0 || length > wordBytesMax {
			return fmt.Errorf("%w: invalid bulk length", errProtocol)
		}
		word := make([]byte, length+len("\r\n"))
		if _, err := io.ReadFull(in, word); err != nil {
			return err
		}
		if word[length] != '\r' || word[length+1] != '\n' {
			return fmt.Errorf("%w: a bulk string does not end after its length", errProtocol)
		}
		r.words = append(r.words, word[:length:length])
	}
	return nil
}

// number reads a line that consists of this character and a number.
func (r *request) number(in source, kind byte) (int, error) {
	r.line = r.line[:0]
	for {
		next, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if next == '\n' {
			break
		}
		if len(r.line) == lineBytesMax {
			return 0, fmt.Errorf("%w: a line is too long", errProtocol)
		}
		r.line = append(r.line, next)
	}
	end := len(r.line) - 1
	if end < 1 || r.line[0] != kind || r.line[end] != '\r' {
		return 0, fmt.Errorf("%w: expected '%c'", errProtocol, kind)
	}
	number, err := strconv.Atoi(string(r.line[1:end]))
	if err != nil {
		return 0, fmt.Errorf("%w: invalid length", errProtocol)
	}
	return number, nil
}

func writeBulk(out *bufio.Writer, value []byte) {
	out.WriteByte('$')
	out.Write(strconv.AppendInt(out.AvailableBuffer(), int64(len(value)), 10))
	out.WriteString("\r\n")
	out.Write(value)
	out.WriteString("\r\n")
}

func writeError(out *bufio.Writer, message string) {
	out.WriteByte('-')
	out.WriteString(message)
	out.WriteString("\r\n")
}
