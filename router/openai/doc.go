// Package openai reads and writes the bytes of the OpenAI API without decoding whole bodies.
//
// It scans a request once ([Scan]), edits it without touching any other byte ([Rewrite]), cuts a streamed answer into
// events ([Stream]), finds token counts in answers of any size ([Probe]), and builds errors, model lists and answers.
//
// It is no client and no server: it opens no connection, keeps no clock and starts nothing. It does not check what an
// engine checks better, such as the shape of a message: a history that is unusual but valid passes untouched.
//
// The router calls it for every request; the simulated engine and tests use its builders.
//
// Functions are safe to call at once. A [Stream], a [Probe] or a [Tally] belongs to one request and to one goroutine.
//
// Start reading at scan.go for requests and at stream.go for answers.
package openai
