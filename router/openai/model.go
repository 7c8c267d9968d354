package openai

import "encoding/json"

// Model is one entry of GET /v1/models.
type Model struct {
	ID string `json:"id"`
	// Object is "model"; Append fills it in.
	Object string `json:"object"`
	// Created is in seconds since 1970; 0 when nobody knows.
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// ContextLength is the most tokens of prompt and answer together; absent when not known.
	ContextLength int64 `json:"context_length,omitempty"`
	// Capabilities are what may be asked of the model, such as "chat", "embeddings", "tools"; absent when not known.
	Capabilities []string `json:"capabilities,omitempty"`
	// Root and Parent are the base model of an adapter; absent for a model of its own.
	Root   string `json:"root,omitempty"`
	Parent string `json:"parent,omitempty"`
}

// Append appends the model as a JSON object.
func (m Model) Append(dst []byte) []byte {
	m.Object = "model"
	b, err := json.Marshal(m)
	if err != nil { // a struct of texts and numbers always encodes
		panic(err)
	}
	return append(dst, b...)
}

// AppendModels appends the list of models, in the order given.
func AppendModels(dst []byte, models []Model) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, m := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Append(dst)
	}
	return append(dst, "]}"...)
}
