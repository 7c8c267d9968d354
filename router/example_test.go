package router_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// A router over one replica, with a key of its own.
func Example() {
	engine := httptest.NewServer(&routertest.Engine{})
	defer engine.Close()

	var fleet routertest.Fleet
	fleet.Set("tiny", router.Backend{ID: "tiny-1", Address: engine.URL})
	pepper := storage.NewPepper()
	id, secret := storage.NewKeySecret()

	r, err := router.New(router.Config{
		Models:   routertest.NewCatalog(catalog.Model{Name: "tiny"}),
		Backends: &fleet,
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}},
		Pepper:   pepper,
		Usage:    &routertest.Books{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	front := httptest.NewServer(r)
	defer front.Close()

	req, err := http.NewRequest(http.MethodPost, front.URL+"/v1/embeddings", strings.NewReader(`{"model":"tiny","input":"words"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fmt.Println(res.StatusCode, len(body) > 0, err)
	// Output: 200 true <nil>
}
