package router

import "llmgw.io/llmgw/router/openai"

// Embeddings have no stream, and so no usage event to ask for.
var embeddings = endpoint{path: openai.Embeddings, name: "embeddings"}
