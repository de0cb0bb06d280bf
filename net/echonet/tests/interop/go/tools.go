//go:build tools

// Package tools names what the interoperability test builds.
package tools

import (
	_ "github.com/cybergarage/uecho-go/net/echonet"
)
