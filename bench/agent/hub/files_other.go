//go:build !unix

package main

import "errors"

func enoughFiles(int) error { return errors.New("this runs on Linux") }
