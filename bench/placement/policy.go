package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// policy speaks with the harness: one message a line, an answer to "place" and
// to nothing else.
type policy struct {
	out   *bufio.Writer
	times string  // file for the times of decisions; empty: none
	moves float64 // percent of placed replicas that may be moved
	game  game
	clock *clock
}

// game is one of the harness's experiments.
type game interface {
	// place answers a request with what is to be written.
	place(message) (any, error)
	// tell takes what has no answer.
	tell(message) error
}

// message is any line of the harness.
type message struct {
	Op string `json:"op"`
	// A reset has nodes and either shapes (openb) or models (llm).
	Nodes  json.RawMessage `json:"nodes"`
	Shapes []shape         `json:"shapes"`
	Models []llmModel      `json:"models"`
	// openb
	Task task `json:"task"`
	// llm
	ID      int        `json:"id"`
	Model   string     `json:"model"`
	Profile int        `json:"profile"`
	Shards  []llmShard `json:"shards"`
	Node    int        `json:"node"`
	Down    bool       `json:"down"`
	Held    bool       `json:"held"`
}

func (p *policy) serve(in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<16)
	dec := json.NewDecoder(r)
	for {
		var m message
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return p.finish()
		case err != nil:
			return err
		}
		if err := p.take(m); err != nil {
			return fmt.Errorf("%s: %w", m.Op, err)
		}
	}
}

func (p *policy) take(m message) error {
	if m.Op == "reset" {
		return p.reset(m)
	}
	if p.game == nil {
		return errors.New("the first message is a reset")
	}
	if m.Op != "place" {
		return p.game.tell(m)
	}
	answer, err := p.game.place(m)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(p.out).Encode(answer); err != nil {
		return err
	}
	return p.out.Flush()
}

func (p *policy) reset(m message) error {
	if err := p.finish(); err != nil {
		return err
	}
	p.clock = &clock{}
	if m.Models != nil {
		p.clock.Game = "llm"
		return p.start(newLLM(m, p.clock, p.moves))
	}
	p.clock.Game = "openb"
	return p.start(newOpenb(m, p.clock))
}

func (p *policy) start(g game, err error) error {
	p.game = g
	return err
}

func (p *policy) finish() error {
	if p.clock == nil || p.times == "" {
		return nil
	}
	return p.clock.append(p.times)
}
