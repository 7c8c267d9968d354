package llmgw_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// A control plane lives in another program, which serves its handlers where it
// likes. Everything is kept in memory here; bunstore keeps it in a file or a
// database.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	c, err := llmgw.New(ctx, llmgw.Config{Store: memstore.New(), Pepper: storage.NewPepper()})
	if err != nil {
		fmt.Println(err)
		stop()
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	_, err = c.Catalog().Add(ctx, catalog.Model{
		Name: "org/tiny", Source: "file:///srv/tiny.gguf",
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, MemoryGB: 2}},
	}, catalog.Author{Principal: "user:ann"})
	fmt.Println("added:", err == nil)

	mux := http.NewServeMux()
	mux.Handle("/v1/", c.OpenAI())
	mux.Handle("/api/", c.Admin())
	for _, path := range []string{"/v1/models", "/api/v1/models"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		fmt.Println(path, w.Code)
	}
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// added: true
	// /v1/models 401
	// /api/v1/models 401
	// ended: <nil>
}

// A configuration file is read strictly, and every complaint comes at once.
func ExampleParseFile() {
	_, err := llmgw.ParseFile([]byte(strings.Join([]string{
		"listen: {client: {address: localhost}}",
		"log: {level: loud}",
	}, "\n")))
	fmt.Println(err)
	// Output:
	// listen.client.address: "localhost" is no address; write host:port, or :port for all
	// log.level: "loud" is no level; use debug, info, warn or error
}
