package router

import "llmgw.io/llmgw/router/openai"

var completions = endpoint{path: openai.Completions, name: "completions", streams: true}
