package adminapi

import (
	"reflect"

	"llmgw.io/llmgw/catalog"
)

// fieldDocs describes fields of nouns that other rooms own; those of our own
// answers carry theirs in a tag.
func fieldDocs(t reflect.Type) map[string]string {
	switch t {
	case reflect.TypeFor[catalog.Model]():
		return map[string]string{
			"name":           "letters, digits and ._:/- , at most 128, beginning with a letter or digit; two names may not differ in case alone",
			"owner":          "a team or a person, for reports; it grants nothing",
			"aliases":        "other names that clients may use",
			"source":         "where the weights come from: file:///…, https://…, hf://org/name@rev[/file], mirror://sha256:…; absent for models that others serve",
			"files":          "expected hashes, verified while fetching",
			"origin":         "the repository the weights came from",
			"prefetch":       "nodes that are to have the weights though no replica runs there; absent: none",
			"class":          "who gives way when there is not room for all: critical, standard (when absent) or batch",
			"scaling":        "absent: exactly one replica",
			"profiles":       "ways to run it, tried in order; the first that fits is used",
			"fallbacks":      "models tried in order when this one fails or has no room",
			"adapters":       "LoRA adapters; clients address each as a model of its name",
			"external":       "another provider serves it",
			"canary":         "a candidate that gets a share of the requests",
			"context_length": "what clients are told",
		}
	case reflect.TypeFor[catalog.Prefetch]():
		return map[string]string{"nodes": "by id", "labels": "nodes that have all of them are meant as well"}
	case reflect.TypeFor[catalog.Profile]():
		return map[string]string{
			"engine":          "llamacpp, vllm, sglang, sim, or static for replicas that others run",
			"build":           "a build of the engine, such as cpu or cu129; absent: any",
			"gpu":             "what each shard asks of devices; absent: CPUs only",
			"shards":          "processes on different nodes; absent: 1",
			"tensor_parallel": "absent: as many as devices",
			"fabric":          "a declared fabric that the shards must share, or any for one physical one",
			"nvlink_domain":   "the shards must share one multi-node NVLink domain",
			"min_memory_gb":   "GiB that a shard reserves of its host; absent: none, and placement cannot tell when a node is full",
			"cpu_cores":       "cores that a shard reserves of its host",
			"disk_gb":         "GiB of disk beyond the weights",
			"context":         "tokens a slot; absent: the engine's default",
			"slots":           "requests at once; absent: the engine's default",
			"start_timeout":   "absent: 10 minutes beyond the expected load time",
			"drain_timeout":   "absent: 5 minutes",
			"pool":            "only nodes of this pool; absent: nodes that are in none",
			"endpoints":       "engine static only: where the replicas are",
		}
	case reflect.TypeFor[catalog.GPU]():
		return map[string]string{
			"class":              "a class of device, such as H100-80 or 3g.40gb; absent: any",
			"memory_gb":          "the least memory of a device in GiB; with shared, what is reserved of one",
			"shared":             "others may use the same device; count is 1 then",
			"compute_capability": "the least, such as 8.0",
		}
	case reflect.TypeFor[catalog.Scaling]():
		return map[string]string{
			"max":          "absent: follows min; min 0 with a max of at least 1 runs on demand, 0 and 0 runs none",
			"idle_timeout": "when an on-demand replica that is not asked is stopped; absent: 15 minutes",
			"schedule":     "weekly windows with a higher least, in UTC",
		}
	case reflect.TypeFor[catalog.External](), reflect.TypeFor[catalog.Endpoint]():
		return map[string]string{"key": "write-only: never shown; absent on a change keeps it, empty removes it"}
	}
	return nil
}
