package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"llmgw.io/llmgw"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// run serves one model and asks it once.
func run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store, pepper := memstore.New(), storage.NewPepper()
	id, secret := storage.NewKeySecret()
	key := storage.Key{ID: id, Name: "example", Project: storage.DefaultProject, Hash: pepper.Hash(secret)}
	if err := store.CreateKey(ctx, key, catalog.Author{Principal: "example"}); err != nil {
		return "", err
	}
	c, err := llmgw.New(ctx, llmgw.Config{Store: store, Pepper: pepper})
	if err != nil {
		return "", err
	}
	model := catalog.Model{Name: "tiny", Profiles: []catalog.Profile{{Name: "sim", Engine: catalog.EngineSim, MemoryGB: 1}}}
	if _, err := c.Catalog().Add(ctx, model, catalog.Author{Principal: "example"}); err != nil {
		return "", err
	}
	node := agenttest.NewNode(agenttest.NodeConfig{ID: "here", Control: agenttest.Direct(c.Hub(), "here"), Start: start})
	go c.Run(ctx)    //nolint:errcheck // it ends with the example
	go node.Run(ctx) //nolint:errcheck // it ends with the example

	body := strings.NewReader(`{"model":"tiny","messages":[{"role":"user","content":"hello"}]}`)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", body)
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	c.OpenAI().ServeHTTP(w, r) // waits until a replica is ready
	answer, err := io.ReadAll(w.Result().Body)
	return string(answer), err
}

// start is what the node in memory does for a shard: it runs a simulated engine.
func start(_ context.Context, s protocol.DesiredShard) (address string, stop func(), err error) {
	e, err := simengine.New(simengine.Config{Models: []string{string(s.Model)}, APIKey: s.EngineKey})
	if err != nil {
		return "", nil, err
	}
	srv := httptest.NewServer(e)
	return strings.TrimPrefix(srv.URL, "http://"), srv.Close, nil
}
