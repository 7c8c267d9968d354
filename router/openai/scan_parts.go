package openai

// streamOptions looks for include_usage, which Rewrite may have to add.
func (s *scanner) streamOptions() error {
	if s.peek() == 'n' {
		return s.word("null")
	}
	if s.peek() != '{' {
		return s.wrong("stream_options", "an object")
	}
	from := s.i
	done, err := s.open(2, '}')
	s.r.optionsEmpty = done
	for !done && err == nil {
		if err = s.streamOption(); err != nil {
			return err
		}
		done, err = s.next('}')
	}
	s.r.options = Span{from, s.i}
	return err
}

func (s *scanner) streamOption() error {
	const include, along = "include_usage", "continuous_usage_stats"
	at := s.i
	name, err := s.plainKey()
	if err != nil {
		return err
	}
	var room [longestKey]byte
	if len(name) > longestKey {
		return s.value(2)
	}
	switch string(fold(room[:0], name)) {
	case along:
		s.r.countsAlong = true
		return s.value(2)
	case include:
	default:
		return s.value(2)
	}
	if string(name) != include {
		s.i = at
		return s.wrong("stream_options."+include, "written in lower case")
	}
	if s.r.usageValue.End != 0 {
		return twice("stream_options."+include, at)
	}
	from := s.i
	s.r.IncludeUsage, err = s.flag("stream_options." + include)
	s.r.usageValue = Span{from, s.i}
	return err
}

// messages counts the messages of a chat; what is in them is the engine's to judge.
func (s *scanner) messages() error {
	if s.peek() != '[' {
		return s.wrong("messages", "a list")
	}
	n := 0
	done, err := s.open(2, ']')
	for !done && err == nil {
		if err = s.value(2); err != nil {
			return err
		}
		n++
		done, err = s.next(']')
	}
	s.r.Messages = n
	return err
}

// input finds the form of a prompt or of an embedding's input and counts what it holds.
func (s *scanner) input() error {
	r := s.r
	switch s.peek() {
	case '"':
		r.Input, r.Inputs = InputText, 1
		return s.value(1)
	case 'n':
		return s.word("null")
	case '[':
		return s.inputList()
	}
	r.Input, r.Inputs = InputOther, 1
	return s.value(1)
}

func (s *scanner) inputList() error {
	r := s.r
	n := 0
	done, err := s.open(2, ']')
	for !done && err == nil {
		kind := inputKind(s.peek())
		if n > 0 && kind != r.Input {
			kind = InputOther
		}
		r.Input = kind
		n++
		if kind == InputTokenLists {
			err = s.tokenList()
		} else {
			err = s.value(2)
		}
		if err != nil {
			return err
		}
		done, err = s.next(']')
	}
	r.Inputs = n
	if r.Input == InputTokens {
		r.Inputs, r.InputTokens = 1, n
	}
	return err
}

// inputKind gives the form of a list by the first byte of one of its elements.
func inputKind(b byte) InputKind {
	switch {
	case b == '"':
		return InputTexts
	case b == '[':
		return InputTokenLists
	case b >= '0' && b <= '9':
		return InputTokens
	}
	return InputOther
}

func (s *scanner) tokenList() error {
	done, err := s.open(3, ']')
	for !done && err == nil {
		if err = s.value(3); err != nil {
			return err
		}
		s.r.InputTokens++
		done, err = s.next(']')
	}
	return err
}
