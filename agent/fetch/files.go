package fetch

import (
	"context"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// Files brings files that are named one by one, each with where it comes from, and
// gives their absolute paths in order. It does what Get does for a shard's weights.
func (f *Fetcher) Files(ctx context.Context, files []protocol.DesiredFile, told func(p inventory.Fetch, trouble string)) ([]string, error) {
	set, err := Weights(protocol.DesiredShard{Files: files})
	if err != nil {
		return nil, err
	}
	return f.Get(ctx, set, told)
}
