// Package textbusy starts programs whose files were written a moment ago.
//
// A process of many threads that writes a program and then runs it may be told
// "text file busy" (ETXTBSY) though it closed the file: a child that another
// thread forked meanwhile holds a copy of the open file until it has become its
// own program (https://go.dev/issue/22315). That takes a moment, so that the way
// out is to try again.
//
// It is not for programs that others write on: that error stays an error. What
// starts programs that llmgw may have installed calls it: engines, their proof,
// and the questions for their versions.
//
// Everything here is safe for concurrent use. Start reading at [Again].
package textbusy
