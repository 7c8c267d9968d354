package ctl

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
)

// largestFile is what the API takes for a definition.
const largestFile = 1 << 20

// definition reads a model definition, as YAML or JSON, from a file or from
// standard input. It is sent as it stands, so that the server names whatever
// is wrong with it.
func (s *session) definition() (json.RawMessage, error) {
	path := s.String("file")
	from := s.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("the definition cannot be read: %w", err)
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("the definition cannot be read: %w", err)
	}
	if len(b) > largestFile {
		return nil, fmt.Errorf("the definition is larger than %d bytes", largestFile)
	}
	return toJSON(b)
}

func toJSON(b []byte) (json.RawMessage, error) {
	if json.Valid(b) {
		return b, nil
	}
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		return nil, fmt.Errorf("the definition is neither JSON nor YAML: %w", err)
	}
	if !json.Valid(j) || len(j) == 0 || j[0] != '{' {
		return nil, fmt.Errorf("the definition must be one object: keys and values, beginning with name")
	}
	return j, nil
}
