package safedial_test

import (
	"errors"
	"fmt"

	"llmgw.io/llmgw/internal/safedial"
)

// A mirror on the local network is opened by network and port; all else stays
// as it was.
func ExampleNew() {
	mirror, err := safedial.ParseAllow("10.20.0.0/16:7070")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := safedial.New(safedial.Config{Name: "mirror", Allow: []safedial.Allow{mirror}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Get("https://169.254.169.254/latest/meta-data/")
	fmt.Println(errors.Is(err, safedial.ErrRefused))
	fmt.Println(safedial.Plain(err))
	// Output:
	// true
	// safedial: the address cannot be reached or is not allowed; see the log, and the addresses allowed in the configuration
}

// A URL that a person enters is checked while the person is still there to be told.
func ExamplePolicy_ParseURL() {
	p, err := safedial.NewPolicy(safedial.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = p.ParseURL("http://hooks.example/chat")
	fmt.Println(err)
	_, err = p.ParseURL("https://0x7f.1/")
	fmt.Println(err)
	// Output:
	// safedial: URL not allowed: plain http is not allowed here; use https
	// safedial: URL not allowed: its host is no host name; write names of other scripts in their ASCII form
}
